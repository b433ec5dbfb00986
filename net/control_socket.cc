#include "net/control_socket.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "base/system_error.h"
#include "net/endpoint.h"

namespace weir {
namespace {

// Connections that the kernel keeps until they are accepted: a burst, for that is done at once.
constexpr int backlog = 1024;

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> resolve(const std::string& host, std::uint16_t port, const std::string& task,
                          int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                    std::to_string(port).c_str(), &hints, &found);
  if (failure == EAI_SYSTEM) return system_error(task, errno);
  if (failure != 0) return Error{Errc::system, task + ": " + ::gai_strerror(failure)};
  return Addresses(found);
}

FileDescriptor socket_for(const addrinfo& address) {
  return FileDescriptor(::socket(
      address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
}

bool wait_for(int fd, short events, MonotonicTime deadline) {
  pollfd watched{fd, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&watched, 1, poll_timeout_ms(deadline));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

// 0, or the errno of the failure.
int connect_socket(int socket, const addrinfo& address, MonotonicTime deadline) {
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!wait_writable(socket, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

std::string address_text(const std::string& host, std::uint16_t port) {
  return to_string(Endpoint{host.empty() ? "*" : host, port});
}

Result<FileDescriptor> listen_on(const std::string& host, std::uint16_t port) {
  const std::string task = "cannot listen on " + address_text(host, port);
  const auto addresses = resolve(host, port, task, AI_PASSIVE);
  if (!addresses) return addresses.error();
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    FileDescriptor socket = socket_for(*at);
    const int on = 1;
    if (socket.is_open() &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(socket.get(), backlog) == 0)
      return socket;
    error = errno;
  }
  return system_error(task, error);
}

Result<FileDescriptor> connect_to(const std::string& host, std::uint16_t port,
                                  MonotonicTime deadline) {
  const std::string task = "cannot connect to " + address_text(host, port);
  const auto addresses = resolve(host, port, task, 0);
  if (!addresses) return addresses.error();
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    FileDescriptor socket = socket_for(*at);
    error = socket.is_open() ? connect_socket(socket.get(), *at, deadline) : errno;
    if (error == 0) return socket;
  }
  return system_error(task, error,
                      error == ETIMEDOUT      ? Errc::timeout
                      : error == ECONNREFUSED ? Errc::cluster_unreachable
                                              : Errc::system);
}

std::uint16_t local_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  char port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, nullptr, 0, port,
                    sizeof(port), NI_NUMERICSERV) != 0)
    return 0;
  return static_cast<std::uint16_t>(std::stoi(port));
}

std::string peer_text(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return address_text(host, static_cast<std::uint16_t>(std::stoi(port)));
}

bool wait_readable(int fd, MonotonicTime deadline) {
  return wait_for(fd, POLLIN, deadline);
}
bool wait_writable(int fd, MonotonicTime deadline) {
  return wait_for(fd, POLLOUT, deadline);
}

int poll_timeout_ms(MonotonicTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().now()).count();
  return static_cast<int>(
      std::clamp<std::chrono::milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace weir
