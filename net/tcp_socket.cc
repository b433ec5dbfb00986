#include "net/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weir {
namespace {

using asio::ip::tcp;

asio::error_code last_error() {
  return {errno, asio::system_category()};
}

// Not by asio's open(): the flag must be there before another thread forks.
int new_socket(const tcp& protocol) {
  return ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
}

asio::error_code try_listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  const int descriptor = new_socket(endpoint.protocol());
  if (descriptor < 0) return last_error();
  asio::error_code error;
  acceptor.assign(endpoint.protocol(), descriptor, error);
  if (error) {
    ::close(descriptor);
    return error;
  }
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (error) {
    asio::error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

void set_int_option(tcp::socket& socket, int level, int name, int value) {
  // Fails only if the peer has gone already, which the next read says.
  (void)::setsockopt(socket.native_handle(), level, name, &value, sizeof value);
}

}  // namespace

Result<tcp::acceptor> listen_on(asio::io_context& io, const std::string& host, PortRange ports) {
  asio::error_code error;
  tcp::resolver resolver(io);
  const auto addresses = resolver.resolve(host, "0", tcp::resolver::passive, error);
  if (error || addresses.empty()) {
    return Error{Errc::bad_option,
                 "cannot listen on '" + host + "', which is no address: " + error.message()};
  }
  tcp::endpoint endpoint = addresses.begin()->endpoint();
  tcp::acceptor acceptor(io);
  for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
    endpoint.port(static_cast<std::uint16_t>(port));
    error = try_listen(acceptor, endpoint);
    if (!error) return acceptor;
    const bool next_may_do = error == asio::error::address_in_use ||
                             error == asio::error::no_permission ||
                             error == asio::error::access_denied;
    if (!next_may_do) break;
  }
  return Error{Errc::system, "no port of " + to_string(ports) + " can be listened on at " + host +
                                 ": " + error.message() + "; give another range of ports"};
}

tcp::socket accept_from(tcp::acceptor& acceptor, asio::error_code& error) {
  tcp::socket socket(acceptor.get_executor());
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int descriptor = ::accept4(acceptor.native_handle(), reinterpret_cast<sockaddr*>(&address),
                                   &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    error = last_error();
    return socket;
  }
  socket.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor, error);
  if (error) ::close(descriptor);
  return socket;
}

tcp::socket open_socket(asio::io_context& io, const tcp& protocol, asio::error_code& error) {
  tcp::socket socket(io);
  const int descriptor = new_socket(protocol);
  if (descriptor < 0) {
    error = last_error();
    return socket;
  }
  socket.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
  return socket;
}

void set_connection_options(tcp::socket& socket) {
  set_int_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // A machine that vanished without a word is noticed in about half a minute; the heartbeat of the
  // processes is quicker, this is for when there is none.
  set_int_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_int_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::string peer_name(const tcp::socket& socket) {
  asio::error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "an unknown address";
  return to_string(Endpoint{peer.address().to_string(), peer.port()});
}

}  // namespace weir
