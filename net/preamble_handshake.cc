#include "net/preamble_handshake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/system_error.h"
#include "net/control_socket.h"

namespace weir {
namespace {

// Callers that are listened to at once. Members take a round trip; so when more wait, the one that
// has waited longest is none.
constexpr std::size_t guests_max = 256;

// A pause after the system had no descriptor for a caller, who stays in the kernel's queue.
constexpr std::chrono::milliseconds accept_pause{100};

// Read and thrown away before closing: a close with unread bytes would take back our answer.
constexpr std::size_t drained_bytes_max = 4096;

std::string seconds_text(std::chrono::milliseconds time) {
  if (time.count() % 1000 != 0) return std::to_string(time.count()) + " ms";
  return std::to_string(time.count() / 1000) + " s";
}

// A preamble on its way in.
class IncomingPreamble {
 public:
  enum class Outcome { incomplete, complete, closed, failed };

  // Takes what the socket has, and nothing that follows the preamble. After `failed`, errno says
  // why.
  Outcome receive(int socket, ConnectionPurpose purpose, const ClusterToken& token) {
    const auto room = std::span(bytes_).subspan(size_);
    const ssize_t got = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (got == 0) return Outcome::closed;
    if (got < 0) {
      const bool nothing_yet = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
      return nothing_yet ? Outcome::incomplete : Outcome::failed;
    }
    size_ += static_cast<std::size_t>(got);
    verdict_ = check_preamble(received(), purpose, token);
    return verdict_ == PreambleVerdict::incomplete ? Outcome::incomplete : Outcome::complete;
  }

  [[nodiscard]] PreambleVerdict verdict() const { return verdict_; }
  [[nodiscard]] std::span<const std::byte> received() const {
    return std::span(bytes_).first(size_);
  }
  // "10 of 32 bytes"
  [[nodiscard]] std::string progress() const {
    return std::to_string(size_) + " of " + std::to_string(preamble_bytes) + " bytes";
  }

 private:
  Preamble bytes_{};
  std::size_t size_ = 0;
  PreambleVerdict verdict_ = PreambleVerdict::incomplete;
};

// It is the first thing sent on its socket, so the kernel has room for it at once.
bool send_preamble(int socket, ConnectionPurpose purpose, const ClusterToken& token) {
  const Preamble preamble = make_preamble(purpose, token);
  return ::send(socket, preamble.data(), preamble.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(preamble.size());
}

void drain(int socket) {
  std::array<std::byte, drained_bytes_max> ignored;
  [[maybe_unused]] const auto got = ::recv(socket, ignored.data(), ignored.size(), MSG_DONTWAIT);
}

std::string explain_answer(const IncomingPreamble& answer) {
  if (answer.verdict() == PreambleVerdict::wrong_purpose)
    return "expects connections for another purpose: is the port right?";
  return explain(answer.verdict(), answer.received());
}

}  // namespace

Result<FileDescriptor> dial(const std::string& host, std::uint16_t port, ConnectionPurpose purpose,
                            const ClusterToken& token, std::chrono::milliseconds timeout) {
  const std::string task = "cannot connect to " + address_text(host, port);
  const std::string closed =
      std::string("it closed the connection before its preamble was accepted: ") +
      (token == ClusterToken{} ? "the cluster may have a secret: give --secret-file"
                               : "is the secret (--secret-file) the same?");
  const MonotonicTime deadline = system_clock().now() + timeout;
  auto socket = connect_to(host, port, deadline);
  if (!socket && socket.error().code == Errc::cluster_unreachable) {
    return Error{Errc::cluster_unreachable,
                 socket.error().message +
                     ": is a master running there? Start one with node --role master --listen " +
                     address_text(host, port)};
  }
  if (!socket) return socket;
  if (!send_preamble(socket->get(), purpose, token))
    return Error{Errc::system, task + ": " + closed};

  IncomingPreamble answer;
  auto outcome = IncomingPreamble::Outcome::incomplete;
  while (outcome == IncomingPreamble::Outcome::incomplete) {
    if (!wait_readable(socket->get(), deadline))
      return Error{Errc::timeout,
                   task + ": it said " + answer.progress() + " of a preamble within " +
                       seconds_text(timeout) +
                       ": is it a Weir master? One that is stopped or overloaded says "
                       "nothing either"};
    outcome = answer.receive(socket->get(), purpose, token);
  }
  if (outcome == IncomingPreamble::Outcome::failed && errno != ECONNRESET && errno != EPIPE)
    return system_error(task, errno);
  if (outcome != IncomingPreamble::Outcome::complete)
    return Error{Errc::system, task + ": " + closed};
  if (answer.verdict() != PreambleVerdict::accepted)
    return Error{Errc::bad_option, task + ": it " + explain_answer(answer)};
  return socket;
}

class PreambleListener::Impl {
 public:
  Impl(FileDescriptor socket, FileDescriptor stop, Settings settings, OnAccepted on_accepted)
      : socket_(std::move(socket)),
        stop_(std::move(stop)),
        settings_(std::move(settings)),
        on_accepted_(std::move(on_accepted)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    const std::uint64_t one = 1;
    WEIR_CHECK(::write(stop_.get(), &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }

 private:
  // A caller whose preamble is not complete.
  struct Guest {
    FileDescriptor socket;
    MonotonicTime deadline;
    IncomingPreamble preamble;
  };

  void run() {
    while (true) {
      // Guests are in the order of their deadlines.
      std::vector<pollfd> watched{{stop_.get(), POLLIN, 0},
                                  {accept_again_at_ ? -1 : socket_.get(), POLLIN, 0}};
      for (const Guest& guest : guests_) watched.push_back({guest.socket.get(), POLLIN, 0});
      const int ready = ::poll(watched.data(), watched.size(), timeout_ms());
      WEIR_CHECK(ready >= 0 || errno == EINTR || errno == ENOMEM);
      if (ready > 0) {
        if (watched[0].revents != 0) return;
        listen_to_guests(std::span(watched).subspan(2));
        if (watched[1].revents != 0) accept_guests();
      }
      give_up_waiting();
    }
  }

  int timeout_ms() const {
    std::optional<MonotonicTime> next = accept_again_at_;
    if (!guests_.empty()) {
      const MonotonicTime first = guests_.front().deadline;
      next = std::min(next.value_or(first), first);
    }
    return next ? poll_timeout_ms(*next) : -1;
  }

  void listen_to_guests(std::span<const pollfd> watched) {
    WEIR_CHECK(watched.size() == guests_.size());
    std::size_t index = 0;
    std::erase_if(guests_,
                  [&](Guest& guest) { return watched[index++].revents != 0 && !stays(guest); });
  }

  // Whether it has to say more.
  bool stays(Guest& guest) {
    switch (guest.preamble.receive(guest.socket.get(), settings_.purpose, settings_.token)) {
      case IncomingPreamble::Outcome::incomplete:
        return true;
      case IncomingPreamble::Outcome::closed:
        refuse(guest, "closed the connection after " + guest.preamble.progress());
        return false;
      case IncomingPreamble::Outcome::failed:
        refuse(guest, errno_text(errno) + " after " + guest.preamble.progress());
        return false;
      case IncomingPreamble::Outcome::complete:
        decide(guest);
        return false;
    }
    WEIR_CHECK(false);
    return false;
  }

  void decide(Guest& guest) {
    const PreambleVerdict verdict = guest.preamble.verdict();
    if (verdict == PreambleVerdict::accepted) {
      if (send_preamble(guest.socket.get(), settings_.purpose, settings_.token)) {
        on_accepted_(std::move(guest.socket));
      } else {
        refuse(guest, "closed the connection before it was answered");
      }
      return;
    }
    const bool is_kin =
        verdict == PreambleVerdict::wrong_version || verdict == PreambleVerdict::wrong_purpose;
    if (is_kin) (void)send_preamble(guest.socket.get(), settings_.purpose, ClusterToken{});
    refuse(guest, explain(verdict, guest.preamble.received()));
    drain(guest.socket.get());
  }

  void refuse(const Guest& guest, const std::string& reason) const {
    settings_.logger.warning("refused a connection from " + peer_text(guest.socket.get()) + ": " +
                             reason);
  }

  void accept_guests() {
    while (true) {
      FileDescriptor caller(
          ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!caller.is_open()) return pause_if_exhausted(errno);
      exhaustion_told_ = false;
      if (guests_.size() == guests_max) {
        refuse(guests_.front(), "had said " + guests_.front().preamble.progress() +
                                    " of a preamble, and too many others waited");
        guests_.erase(guests_.begin());
      }
      guests_.push_back({std::move(caller), system_clock().now() + settings_.timeout, {}});
    }
  }

  void pause_if_exhausted(int error) {
    const bool exhausted =
        error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (!exhausted) return;
    accept_again_at_ = system_clock().now() + accept_pause;
    if (!std::exchange(exhaustion_told_, true))
      settings_.logger.error("connections have to wait: " + errno_text(error));
  }

  void give_up_waiting() {
    const MonotonicTime now = system_clock().now();
    if (accept_again_at_ && *accept_again_at_ <= now) accept_again_at_.reset();
    std::erase_if(guests_, [&](const Guest& guest) {
      if (guest.deadline > now) return false;
      refuse(guest, "said only " + guest.preamble.progress() + " of a preamble within " +
                        seconds_text(settings_.timeout));
      return true;
    });
  }

  const FileDescriptor socket_;
  const FileDescriptor stop_;  // eventfd
  const Settings settings_;
  const OnAccepted on_accepted_;
  std::vector<Guest> guests_;
  std::optional<MonotonicTime> accept_again_at_;
  bool exhaustion_told_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<PreambleListener>> PreambleListener::start(FileDescriptor socket,
                                                                  Settings settings,
                                                                  OnAccepted on_accepted) {
  WEIR_CHECK(socket.is_open());
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.is_open()) return system_error("cannot accept connections", errno);
  try {
    auto impl = std::make_unique<Impl>(std::move(socket), std::move(stop), std::move(settings),
                                       std::move(on_accepted));
    return std::unique_ptr<PreambleListener>(new PreambleListener(std::move(impl)));
  } catch (const std::system_error& e) {
    return system_error("cannot accept connections: no thread", e.code().value());
  }
}

PreambleListener::PreambleListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PreambleListener::~PreambleListener() = default;

}  // namespace weir
