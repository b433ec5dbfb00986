// The sockets of control connections: listening, connecting with a deadline, names in messages.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace weir {

// "127.0.0.1:7000", "[::1]:7000", "*:7000" for all addresses.
[[nodiscard]] std::string address_text(const std::string& host, std::uint16_t port);

// Listens at an address of this machine, by number or name; an empty host means all. Port 0 lets
// the system choose. Non-blocking, close-on-exec, address reused. Errc::system: "cannot listen on
// 127.0.0.1:7000: Address already in use".
[[nodiscard]] Result<FileDescriptor> listen_on(const std::string& host, std::uint16_t port);

// Connects to the first address of `host` that accepts. Non-blocking, close-on-exec. Errc::timeout
// after the deadline, else Errc::system: "cannot connect to 127.0.0.1:7000: Connection refused".
// Looking up a name takes as long as the system's resolver does, deadline or not.
[[nodiscard]] Result<FileDescriptor> connect_to(const std::string& host, std::uint16_t port,
                                                MonotonicTime deadline);

// Of a connected or listening socket; 0 and "an unknown address" if the system does not say.
[[nodiscard]] std::uint16_t local_port(int socket);
[[nodiscard]] std::string peer_text(int socket);

// Waits until `fd` can be read (or written), has an error, or the deadline has passed: then false.
[[nodiscard]] bool wait_readable(int fd, MonotonicTime deadline);
[[nodiscard]] bool wait_writable(int fd, MonotonicTime deadline);

// What poll takes to wait until `deadline`, rounded up; 0 if it has passed.
[[nodiscard]] int poll_timeout_ms(MonotonicTime deadline);

}  // namespace weir
