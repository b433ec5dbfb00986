#include "net/gate.h"

#include <sys/socket.h>

#include <caf/all.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/doorman.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/scribe.hpp>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "net/control_socket.h"

namespace weir {
namespace {

namespace network = caf::io::network;

// How long the broker, an actor of this process, may take to answer.
constexpr std::chrono::seconds broker_timeout{10};

// A published port as CAF sees it. It does not listen: that does a PreambleListener.
class GateDoorman final : public caf::io::doorman {
 public:
  // `listening_socket` lends its number, which no other doorman has.
  GateDoorman(network::multiplexer& multiplexer, int listening_socket, std::string host,
              std::uint16_t port)
      : doorman(network::accept_hdl_from_socket(listening_socket)),
        multiplexer_(multiplexer),
        host_(std::move(host)),
        port_(port) {}

  // Gives the broker a connection. On the multiplexer's thread, as all of CAF's calls are.
  void enter(FileDescriptor socket) {
    if (detached()) return;
    forget_who_left();
    auto scribe = multiplexer_.new_scribe(socket.release());
    const auto handle = scribe->hdl();
    parent()->add_scribe(std::move(scribe));
    doorman::new_connection(&multiplexer_, handle);
  }

  bool new_connection() override { return false; }
  void launch() override {}
  void add_to_loop() override {}
  void remove_from_loop() override {}
  void graceful_shutdown() override { detach(&multiplexer_, false); }
  std::string addr() const override { return host_; }
  std::uint16_t port() const override { return port_; }

 private:
  // The broker has an actor that asks about each process that it is connected to, and keeps it when that has gone. It has
  // to end, too: it holds a proxy, which must not outlive the broker.
  void forget_who_left() {
    auto& broker = static_cast<caf::io::basp_broker&>(*parent());
    std::erase_if(broker.spawn_servers, [&broker](const auto& entry) {
      if (broker.instance.tbl().lookup(entry.first)) return false;
      caf::anon_send_exit(entry.second, caf::exit_reason::kill);
      return true;
    });
  }

  network::multiplexer& multiplexer_;
  const std::string host_;
  const std::uint16_t port_;
};

// CAF counts its references: the broker, the listener and connections on their way hold one.
using GateDoormanPtr = caf::intrusive_ptr<GateDoorman>;

std::chrono::milliseconds left_until(MonotonicTime deadline) {
  return std::chrono::milliseconds(std::max(poll_timeout_ms(deadline), 1));
}

}  // namespace

class Gate::Impl {
 public:
  Impl(caf::actor_system& system, const ClusterToken& token, Logger logger,
       std::chrono::milliseconds handshake_timeout)
      : system_(system),
        token_(token),
        logger_(std::move(logger)),
        handshake_timeout_(handshake_timeout),
        // The middleman has made it when the system started; this looks it up.
        broker_(system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"))) {}

  ~Impl() {
    for (auto& published : published_) {
      published.listener.reset();
      caf::anon_send(broker_, caf::close_atom::value, published.port);
    }
  }

  Result<std::uint16_t> publish(const caf::strong_actor_ptr& actor, const std::string& host,
                                std::uint16_t wanted_port) {
    WEIR_CHECK(actor != nullptr);
    auto socket = listen_on(host, wanted_port);
    if (!socket) return socket.error();
    const std::uint16_t port = local_port(socket->get());
    auto& multiplexer = system_.middleman().backend();
    auto doorman = caf::make_counted<GateDoorman>(multiplexer, socket->get(), host, port);
    WEIR_TRY(publish_at_broker(doorman, port, actor));

    auto listener = PreambleListener::start(
        std::move(*socket), {ConnectionPurpose::control, token_, logger_, handshake_timeout_},
        [doorman, &multiplexer](FileDescriptor accepted) {
          multiplexer.post([doorman, member = std::move(accepted)]() mutable {
            doorman->enter(std::move(member));
          });
        });
    if (!listener) {
      caf::anon_send(broker_, caf::close_atom::value, port);
      return listener.error();
    }
    const std::lock_guard lock(mutex_);
    published_.push_back({port, std::move(*listener)});
    return port;
  }

  Result<caf::strong_actor_ptr> connect(const std::string& host, std::uint16_t port,
                                        std::chrono::milliseconds timeout) {
    const MonotonicTime deadline = system_clock().now() + timeout;
    auto socket = dial(host, port, ConnectionPurpose::control, token_, timeout);
    if (!socket) return socket.error();
    const int fd = socket->release();
    const caf::io::scribe_ptr scribe = system_.middleman().backend().new_scribe(fd);

    const std::string task = "cannot connect to " + address_text(host, port);
    Result<caf::strong_actor_ptr> result = Error{Errc::system, task};
    caf::scoped_actor self{system_};
    self->request(broker_, left_until(deadline), caf::connect_atom::value, scribe, port)
        .receive(
            [&](caf::node_id&, caf::strong_actor_ptr& actor, std::set<std::string>&) {
              if (actor != nullptr) {
                result = std::move(actor);
              } else {
                result = Error{Errc::system, task + ": it has no actor published"};
              }
            },
            [&](caf::error& error) {
              result = error == caf::sec::request_timeout
                           ? Error{Errc::timeout, task +
                                                      ": it said its preamble, and nothing after "
                                                      "it in time: it may be stopped or overloaded"}
                           : Error{Errc::system, task + ": " + system_.render(error)};
            });
    // The broker would wait for ever. `scribe` owns the descriptor, so it still is this socket.
    if (!result) ::shutdown(fd, SHUT_RDWR);
    return result;
  }

 private:
  struct Published {
    std::uint16_t port;
    std::unique_ptr<PreambleListener> listener;
  };

  Result<void> publish_at_broker(const GateDoormanPtr& doorman, std::uint16_t port,
                                 const caf::strong_actor_ptr& actor) {
    Result<void> result;
    caf::scoped_actor self{system_};
    self->request(broker_, broker_timeout, caf::publish_atom::value, caf::io::doorman_ptr(doorman),
                  port, actor, std::set<std::string>{})
        .receive([] {},
                 [&](caf::error& error) {
                   result = Error{Errc::system, "cannot publish at port " + std::to_string(port) +
                                                    ": " + system_.render(error)};
                 });
    return result;
  }

  caf::actor_system& system_;
  const ClusterToken token_;
  const Logger logger_;
  const std::chrono::milliseconds handshake_timeout_;
  const caf::actor broker_;
  std::mutex mutex_;  // guards the following
  std::vector<Published> published_;
};

Gate::Gate(caf::actor_system& system, const ClusterToken& token, Logger logger,
           std::chrono::milliseconds handshake_timeout)
    : impl_(std::make_unique<Impl>(system, token, std::move(logger), handshake_timeout)) {}
Gate::~Gate() = default;

Result<std::uint16_t> Gate::publish(const caf::strong_actor_ptr& actor, const std::string& host,
                                    std::uint16_t port) {
  return impl_->publish(actor, host, port);
}

Result<caf::strong_actor_ptr> Gate::connect(const std::string& host, std::uint16_t port,
                                            std::chrono::milliseconds timeout) {
  return impl_->connect(host, port, timeout);
}

}  // namespace weir
