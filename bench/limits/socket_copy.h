// What the network alone gives: bytes from one process to another over loopback, in frames.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::bench {

// Sends `bytes` in frames of `frame_bytes` from a child process to this one, with plain blocking sockets and one buffer at
// each end. Returns bytes per second from the first frame to the last.
[[nodiscard]] double socket_copy(std::uint64_t bytes, std::size_t frame_bytes);

}  // namespace weir::bench
