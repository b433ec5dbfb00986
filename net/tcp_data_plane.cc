#include "net/tcp_data_plane.h"

#include <pthread.h>
#include <signal.h>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/buffer_pool.h"
#include "net/outbox.h"
#include "net/tcp_dial.h"
#include "net/tcp_greeting.h"
#include "net/tcp_link.h"
#include "net/tcp_socket.h"

namespace weir {
namespace {

using asio::ip::tcp;

// When the process has no descriptors left, accepting is tried again so much later.
constexpr std::chrono::milliseconds accept_retry_after{200};

std::string name_of_host(HostIndex host) {
  return "host " + std::to_string(host.value);
}

// Signals belong to the process's other threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

// Everything below the public calls runs in the network thread, but for what says otherwise.
class TcpDataPlane::Network {
 public:
  Network(TcpDataPlaneOptions options, DataReceiver& receiver)
      : options_(std::move(options)), receiver_(receiver) {}
  ~Network() { stop(); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // The calling threads' part.
  Result<void> start();
  [[nodiscard]] Endpoint address() const;
  void connect(const std::map<HostIndex, Endpoint>& endpoints);
  Result<void> send_element(HostIndex to, ElementFrame element);
  [[nodiscard]] Bytes take_buffer();
  void recycle(Bytes payload) { pool_.give(std::move(payload)); }
  void send_credit(HostIndex to, CreditFrame credit);
  void drop(HostIndex host);
  void close();
  [[nodiscard]] std::vector<LinkCounters> counters() const;

 private:
  using Peers = std::map<HostIndex, std::shared_ptr<Peer>>;

  void stop();
  void send(const std::shared_ptr<Peer>& peer, EncodedFrame frame);
  [[nodiscard]] std::shared_ptr<Peer> find(const Peers& peers, HostIndex host) const;

  void wait_for_connections();
  void accept_all();
  void greet(tcp::socket socket);
  void on_greeted(std::uint64_t greeting, Result<TcpGreeting::Greeted> result);
  [[nodiscard]] std::optional<std::string> objection_to(const Hello& hello) const;
  void refuse(TcpGreeting::Greeted greeted, const std::string& reason);
  void welcome(TcpGreeting::Greeted greeted);

  void dial(const std::shared_ptr<Peer>& peer, const Endpoint& endpoint);
  void on_dialed(const std::shared_ptr<Peer>& peer, Result<TcpDial::Connected> result);
  void begin_link(const std::shared_ptr<Peer>& peer, tcp::socket socket, FrameDecoder decoder,
                  std::string peer_name);
  void on_link_ended(const std::shared_ptr<Peer>& peer, std::optional<Error> error);
  void break_off(HostIndex host, const Error& error);

  [[nodiscard]] std::vector<std::shared_ptr<Peer>> all_peers() const;
  void begin_close();
  void give_up_closing();
  void check_closed();

  const TcpDataPlaneOptions options_;
  DataReceiver& receiver_;
  BufferPool pool_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
  std::uint16_t port_ = 0;

  std::optional<tcp::acceptor> acceptor_;
  asio::steady_timer accept_timer_{io_};
  bool accept_failing_ = false;
  std::map<std::uint64_t, std::shared_ptr<TcpGreeting>> greetings_;  // by age
  std::uint64_t next_greeting_ = 0;
  std::map<HostIndex, std::shared_ptr<TcpDial>> dials_;
  std::size_t links_ = 0;

  // Peers stay when their connection has ended, so that nothing follows behind a gap.
  mutable std::shared_mutex peers_mutex_;
  Peers outbound_;
  Peers inbound_;

  bool closing_ = false;
  asio::steady_timer close_timer_{io_};
  std::optional<std::promise<void>> closed_;
};

Result<void> TcpDataPlane::Network::start() {
  WEIR_CHECK(options_.handshakes_max > 0);
  Result<tcp::acceptor> acceptor = listen_on(io_, options_.listen_host, options_.ports);
  if (!acceptor) return acceptor.error();
  acceptor_ = std::move(acceptor).value();
  asio::error_code error;
  port_ = acceptor_->local_endpoint(error).port();
  wait_for_connections();
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "weir-data");
    io_.run();
  });
  return {};
}

void TcpDataPlane::Network::stop() {
  if (!thread_.joinable()) return;
  WEIR_CHECK(thread_.get_id() != std::this_thread::get_id());
  io_.stop();
  thread_.join();
  // A peer and its link own each other while the connection stands.
  for (const auto& peer : all_peers()) {
    peer->outbox.discard();
    peer->connected = false;
    peer->link.reset();
  }
}

Endpoint TcpDataPlane::Network::address() const {
  const bool given = !options_.advertise_host.empty();
  return {given ? options_.advertise_host : options_.listen_host, port_};
}

void TcpDataPlane::Network::connect(const std::map<HostIndex, Endpoint>& endpoints) {
  for (const auto& [host, endpoint] : endpoints) {
    auto peer = std::make_shared<Peer>(host, true);
    {
      const std::lock_guard lock(peers_mutex_);
      WEIR_CHECK(outbound_.emplace(host, peer).second);
    }
    asio::post(io_, [this, peer = std::move(peer), to = endpoint] { dial(peer, to); });
  }
}

Result<void> TcpDataPlane::Network::send_element(HostIndex to, ElementFrame element) {
  Result<EncodedFrame> encoded = encode_frame(std::move(element));
  if (!encoded) return encoded.error();
  const std::shared_ptr<Peer> peer = find(outbound_, to);
  WEIR_CHECK(peer != nullptr);
  send(peer, std::move(encoded).value());
  return {};
}

Bytes TcpDataPlane::Network::take_buffer() {
  Bytes buffer = pool_.take(0);
  buffer.clear();
  return buffer;
}

void TcpDataPlane::Network::send_credit(HostIndex to, CreditFrame credit) {
  const std::shared_ptr<Peer> peer = find(inbound_, to);
  if (peer != nullptr) send(peer, encode_frame(credit).value());
}

void TcpDataPlane::Network::send(const std::shared_ptr<Peer>& peer, EncodedFrame frame) {
  if (peer->outbox.push(std::move(frame)) == Outbox::Wake::not_needed) return;
  asio::post(io_, [peer] {
    if (peer->link != nullptr) peer->link->flush();
  });
}

std::shared_ptr<Peer> TcpDataPlane::Network::find(const Peers& peers, HostIndex host) const {
  const std::shared_lock lock(peers_mutex_);
  const auto it = peers.find(host);
  return it == peers.end() ? nullptr : it->second;
}

void TcpDataPlane::Network::drop(HostIndex host) {
  asio::post(io_, [this, host] {
    break_off(host, {Errc::connection_lost,
                     "the connection with " + name_of_host(host) + " was dropped on request"});
  });
}

void TcpDataPlane::Network::close() {
  if (!thread_.joinable()) return;
  WEIR_CHECK(thread_.get_id() != std::this_thread::get_id());
  std::future<void> closed = closed_.emplace().get_future();
  asio::post(io_, [this] { begin_close(); });
  closed.wait();  // as long as close_timeout, by close_timer_
  stop();
}

std::vector<LinkCounters> TcpDataPlane::Network::counters() const {
  std::vector<LinkCounters> all;
  for (const auto& peer : all_peers()) {
    all.push_back({.host = peer->host,
                   .outbound = peer->outbound,
                   .connected = peer->connected,
                   .frames_out = peer->outbox.frames(),
                   .bytes_out = peer->outbox.written_bytes(),
                   .frames_in = peer->frames_in.load(std::memory_order_relaxed),
                   .bytes_in = peer->bytes_in.load(std::memory_order_relaxed),
                   .queued_bytes = peer->outbox.queued_bytes()});
  }
  return all;
}

std::vector<std::shared_ptr<Peer>> TcpDataPlane::Network::all_peers() const {
  const std::shared_lock lock(peers_mutex_);
  std::vector<std::shared_ptr<Peer>> all;
  for (const Peers* peers : {&outbound_, &inbound_}) {
    for (const auto& [host, peer] : *peers) all.push_back(peer);
  }
  return all;
}

void TcpDataPlane::Network::wait_for_connections() {
  acceptor_->async_wait(tcp::acceptor::wait_read, [this](asio::error_code error) {
    if (!error && !closing_) accept_all();
  });
}

void TcpDataPlane::Network::accept_all() {
  constexpr int accepted_at_once_max = 16;  // then the connections that stand have their turn
  for (int i = 0; i < accepted_at_once_max; ++i) {
    asio::error_code error;
    tcp::socket socket = accept_from(*acceptor_, error);
    if (error == asio::error::would_block) break;
    if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
    if (error) {
      if (!std::exchange(accept_failing_, true)) {
        options_.log.warning("cannot accept data connections, trying again: " + error.message());
      }
      accept_timer_.expires_after(accept_retry_after);
      accept_timer_.async_wait([this](asio::error_code cancelled) {
        if (!cancelled && !closing_) accept_all();
      });
      return;
    }
    accept_failing_ = false;
    greet(std::move(socket));
  }
  wait_for_connections();
}

void TcpDataPlane::Network::greet(tcp::socket socket) {
  if (greetings_.size() >= options_.handshakes_max) {
    const auto oldest = greetings_.begin()->second;
    oldest->give_up("was still in its handshake when too many others came");
  }
  set_connection_options(socket);
  const std::uint64_t number = next_greeting_++;
  auto greeting = std::make_shared<TcpGreeting>(
      std::move(socket), pool_, options_.token, options_.handshake_timeout,
      [this, number](Result<TcpGreeting::Greeted> result) {
        on_greeted(number, std::move(result));
      });
  greetings_.emplace(number, greeting);
  greeting->start();
}

void TcpDataPlane::Network::on_greeted(std::uint64_t greeting,
                                       Result<TcpGreeting::Greeted> result) {
  greetings_.erase(greeting);
  if (closing_) return;
  if (!result) {
    options_.log.warning("closed a data connection from " + result.error().message);
    return;
  }
  const auto objection = objection_to(result->hello);
  if (objection) return refuse(std::move(result).value(), *objection);
  welcome(std::move(result).value());
}

std::optional<std::string> TcpDataPlane::Network::objection_to(const Hello& hello) const {
  if (hello.job != options_.job) return "it belongs to another job";
  if (hello.attempt != options_.attempt) {
    return "it belongs to attempt " + std::to_string(hello.attempt.value) +
           " of the job, this is attempt " + std::to_string(options_.attempt.value);
  }
  if (hello.to_host != options_.host) {
    return "it is for " + name_of_host(hello.to_host) + ", this is " + name_of_host(options_.host);
  }
  if (find(inbound_, hello.from_host) != nullptr) {
    return name_of_host(hello.from_host) + " has been connected already";
  }
  return std::nullopt;
}

void TcpDataPlane::Network::refuse(TcpGreeting::Greeted greeted, const std::string& reason) {
  options_.log.warning("refused a data connection from " + greeted.peer_name + ", " +
                       name_of_host(greeted.hello.from_host) + ": " + reason);
  const Preamble preamble = make_preamble(ConnectionPurpose::data, options_.token);
  const EncodedFrame refused = *encode_frame(Refused{reason});
  const std::array<asio::const_buffer, 2> answer{asio::buffer(preamble),
                                                 asio::buffer(refused.head)};
  // A new connection takes so little without waiting; if not, the peer misses the reason only.
  asio::error_code ignored;
  greeted.socket.non_blocking(true, ignored);
  greeted.socket.write_some(answer, ignored);
  greeted.socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void TcpDataPlane::Network::welcome(TcpGreeting::Greeted greeted) {
  auto peer = std::make_shared<Peer>(greeted.hello.from_host, false);
  const Preamble preamble = make_preamble(ConnectionPurpose::data, options_.token);
  EncodedFrame answer = *encode_frame(Welcome{});
  answer.head.insert(answer.head.begin(), preamble.begin(), preamble.end());
  (void)peer->outbox.push(std::move(answer));
  {
    const std::lock_guard lock(peers_mutex_);
    inbound_.emplace(peer->host, peer);
  }
  begin_link(peer, std::move(greeted.socket), std::move(greeted.decoder),
             std::move(greeted.peer_name));
}

void TcpDataPlane::Network::dial(const std::shared_ptr<Peer>& peer, const Endpoint& endpoint) {
  if (closing_) return;
  const Hello hello{.job = options_.job,
                    .attempt = options_.attempt,
                    .from_host = options_.host,
                    .to_host = peer->host};
  auto dial = std::make_shared<TcpDial>(
      io_, pool_, endpoint, options_.token, hello, options_.connect_timeout,
      [this, peer](Result<TcpDial::Connected> result) { on_dialed(peer, std::move(result)); });
  dials_.emplace(peer->host, dial);
  dial->start();
}

void TcpDataPlane::Network::on_dialed(const std::shared_ptr<Peer>& peer,
                                      Result<TcpDial::Connected> result) {
  dials_.erase(peer->host);
  if (!result) {
    peer->outbox.discard();
    receiver_.on_peer_lost(peer->host, result.error());
    return check_closed();
  }
  begin_link(peer, std::move(result->socket), std::move(result->decoder),
             std::move(result->peer_name));
}

void TcpDataPlane::Network::begin_link(const std::shared_ptr<Peer>& peer, tcp::socket socket,
                                       FrameDecoder decoder, std::string peer_name) {
  const auto link = std::make_shared<TcpLink>(
      std::move(socket), std::move(decoder), std::move(peer_name), peer, pool_, receiver_,
      [this, peer](std::optional<Error> error) { on_link_ended(peer, std::move(error)); });
  ++links_;
  peer->link = link;
  peer->connected = true;
  link->start();
  if (closing_) link->finish();
}

void TcpDataPlane::Network::on_link_ended(const std::shared_ptr<Peer>& peer,
                                          std::optional<Error> error) {
  --links_;
  peer->link.reset();
  if (error) receiver_.on_peer_lost(peer->host, std::move(*error));
  check_closed();
}

void TcpDataPlane::Network::break_off(HostIndex host, const Error& error) {
  if (const auto dial = dials_.find(host); dial != dials_.end()) {
    const std::shared_ptr<TcpDial> held = dial->second;  // it removes itself from the map
    held->give_up(error);
  }
  for (const Peers* peers : {&outbound_, &inbound_}) {
    const std::shared_ptr<Peer> peer = find(*peers, host);
    if (peer == nullptr || peer->link == nullptr) continue;
    const std::shared_ptr<TcpLink> held = peer->link;
    held->abort(error);
  }
}

void TcpDataPlane::Network::begin_close() {
  closing_ = true;
  asio::error_code ignored;
  acceptor_->close(ignored);
  accept_timer_.cancel();
  for (const auto& [number, greeting] : std::exchange(greetings_, {})) greeting->give_up("");
  close_timer_.expires_after(options_.close_timeout);
  close_timer_.async_wait([this](asio::error_code cancelled) {
    if (!cancelled) give_up_closing();
  });
  for (const auto& peer : all_peers()) {
    const std::shared_ptr<TcpLink> held = peer->link;  // it may end at once
    if (held != nullptr) held->finish();
    // Nobody waits for a host to which nothing was sent.
    const auto dial = dials_.find(peer->host);
    if (peer->outbound && dial != dials_.end() && peer->outbox.queued_bytes() == 0) {
      dial->second->cancel();
      dials_.erase(dial);
    }
  }
  check_closed();
}

void TcpDataPlane::Network::give_up_closing() {
  for (const auto& peer : all_peers()) {
    break_off(peer->host, {Errc::timeout,
                           name_of_host(peer->host) + " did not take what was sent to it within " +
                               std::to_string(options_.close_timeout.count()) + " ms of closing"});
  }
}

void TcpDataPlane::Network::check_closed() {
  if (!closing_ || links_ > 0 || !dials_.empty() || !closed_) return;
  close_timer_.cancel();
  closed_->set_value();
  closed_.reset();
}

Result<std::unique_ptr<TcpDataPlane>> TcpDataPlane::start(TcpDataPlaneOptions options,
                                                          DataReceiver& receiver) {
  try {
    auto network = std::make_unique<Network>(std::move(options), receiver);
    WEIR_TRY(network->start());
    return std::unique_ptr<TcpDataPlane>(new TcpDataPlane(std::move(network)));
  } catch (const std::system_error& e) {  // no descriptors, no thread
    return Error{Errc::system, "cannot start the data plane: " + std::string(e.what())};
  }
}

TcpDataPlane::TcpDataPlane(std::unique_ptr<Network> network) : network_(std::move(network)) {}
TcpDataPlane::~TcpDataPlane() = default;

Endpoint TcpDataPlane::address() const {
  return network_->address();
}

void TcpDataPlane::connect(const std::map<HostIndex, Endpoint>& peers) {
  network_->connect(peers);
}

Result<void> TcpDataPlane::send_element(HostIndex to, ElementFrame element) {
  return network_->send_element(to, std::move(element));
}

Bytes TcpDataPlane::take_buffer() {
  return network_->take_buffer();
}
void TcpDataPlane::recycle(Bytes payload) {
  network_->recycle(std::move(payload));
}

void TcpDataPlane::send_credit(HostIndex to, CreditFrame credit) {
  network_->send_credit(to, credit);
}

void TcpDataPlane::drop(HostIndex host) {
  network_->drop(host);
}
void TcpDataPlane::close() {
  network_->close();
}
std::vector<LinkCounters> TcpDataPlane::counters() const {
  return network_->counters();
}

}  // namespace weir
