#include "bench/limits/socket_copy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "bench/paired.h"

namespace weir::bench {
namespace {

[[noreturn]] void send_all(std::uint16_t port, std::uint64_t bytes, std::size_t frame_bytes) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) _exit(1);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> frame(frame_bytes, 'x');
  while (bytes > 0) {
    const std::size_t size = std::min<std::uint64_t>(bytes, frame_bytes);
    for (std::size_t sent = 0; sent < size;) {
      const ssize_t now = send(connection, frame.data() + sent, size - sent, MSG_NOSIGNAL);
      if (now <= 0) _exit(1);
      sent += static_cast<std::size_t>(now);
    }
    bytes -= size;
  }
  _exit(0);
}

}  // namespace

double socket_copy(std::uint64_t bytes, std::size_t frame_bytes) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  WEIR_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0);
  WEIR_CHECK(listen(listener, 1) == 0);
  socklen_t length = sizeof here;
  WEIR_CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&here), &length) == 0);
  const pid_t sender = fork();
  WEIR_CHECK(sender >= 0);
  if (sender == 0) send_all(ntohs(here.sin_port), bytes, frame_bytes);
  const int connection = accept(listener, nullptr, nullptr);
  WEIR_CHECK(connection >= 0);

  std::vector<char> frame(frame_bytes);
  std::uint64_t received = 0;
  double begin = 0;
  while (received < bytes) {
    const ssize_t now = recv(connection, frame.data(), frame.size(), 0);
    WEIR_CHECK(now > 0);
    if (received == 0) begin = seconds_now();
    received += static_cast<std::uint64_t>(now);
  }
  const double seconds = seconds_now() - begin;
  close(connection);
  close(listener);
  int status = 0;
  WEIR_CHECK(waitpid(sender, &status, 0) == sender && status == 0);
  return static_cast<double>(bytes) / seconds;
}

}  // namespace weir::bench
