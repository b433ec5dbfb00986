// Where a process listens, as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

// A name or address, and a TCP port.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "host:port": a name, an IPv4 address, or an IPv6 address in brackets ("[::1]:7001"). Names are not looked up here.
// Errc::bad_option if it is not that or the port is not from 1 to 65535.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text);
// The text that parse_endpoint reads.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

// Ports to listen on: the first free one. {0, 0} is whichever the system gives.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

// "7001-7050" or "7001", or "0" for whichever the system gives. Errc::bad_option.
[[nodiscard]] Result<PortRange> parse_port_range(std::string_view text);
[[nodiscard]] std::string to_string(const PortRange& range);

}  // namespace weir
