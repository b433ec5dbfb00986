#include "net/endpoint.h"

#include <charconv>
#include <optional>

namespace weir {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_ipv6_character(char c) {
  return is_host_character(c) || c == ':' || c == '%';
}

template <class Predicate>
bool consists_of(std::string_view text, Predicate allowed) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!allowed(c)) return false;
  }
  return true;
}

Error no_endpoint(std::string_view text, std::string_view why) {
  return {Errc::bad_option, "'" + std::string(text) + "' is not host:port: " + std::string(why)};
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return no_endpoint(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!consists_of(host, is_ipv6_character)) {
      return no_endpoint(text, "no IPv6 address is in the brackets");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return no_endpoint(text, "an IPv6 address needs brackets");
  } else if (!consists_of(host, is_host_character)) {
    return no_endpoint(text, "the host is missing or malformed");
  }
  const auto port = parse_port(text.substr(colon + 1));
  if (!port || *port == 0) return no_endpoint(text, "a port is a number from 1 to 65535");
  return Endpoint{std::string(host), *port};
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  const std::string host = brackets ? "[" + endpoint.host + "]" : endpoint.host;
  return host + ":" + std::to_string(endpoint.port);
}

Result<PortRange> parse_port_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  const bool whichever = first == 0 && last == 0;
  if (!first || !last || *first > *last || (*first == 0 && !whichever)) {
    return Error{Errc::bad_option, "'" + std::string(text) +
                                       "' is no range of ports: write 7001-7050, one port, or 0 "
                                       "for any free one"};
  }
  return PortRange{*first, *last};
}

std::string to_string(const PortRange& range) {
  if (range.first == range.last) return std::to_string(range.first);
  return std::to_string(range.first) + "-" + std::to_string(range.last);
}

}  // namespace weir
