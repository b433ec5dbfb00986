// Lines of a web server's combined log.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "actors/launch.h"

// What the apps need of a line:
//   10.1.2.3 - - [17/May/2015:10:00:00 +0000] "GET /docs/ HTTP/1.1" 200 512 "-" "agent"
struct Access {
  weir::EventTime at;
  std::uint32_t address = 0;
  std::string path;  // "/docs/"; empty if the request has none
};

// A number of decimal digits only, from 0 to max.
inline std::optional<int> parse_number(std::string_view text, int max) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0 || value > max)
    return std::nullopt;
  return value;
}

// a.b.c.d
inline std::optional<std::uint32_t> parse_address(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto byte = parse_number(text.substr(0, dot), 255);
    if (!byte) return std::nullopt;
    address = address << 8 | static_cast<std::uint32_t>(*byte);
    text.remove_prefix(std::min(text.size(), dot + 1));
  }
  return address;
}

inline std::string address_text(std::uint32_t address) {
  return std::to_string(address >> 24) + '.' + std::to_string(address >> 16 & 255) + '.' +
         std::to_string(address >> 8 & 255) + '.' + std::to_string(address & 255);
}

// From 1, by its English short name.
inline std::optional<unsigned> parse_month(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto month = std::ranges::find(months, text);
  if (month == months.end()) return std::nullopt;
  return static_cast<unsigned>(month - months.begin() + 1);
}

// 10:05:03
inline std::optional<std::chrono::seconds> parse_time_of_day(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hour = parse_number(text.substr(0, 2), 23);
  const auto minute = parse_number(text.substr(3, 2), 59);
  const auto second = parse_number(text.substr(6, 2), 60);
  if (!hour || !minute || !second) return std::nullopt;
  return std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
}

inline std::optional<std::chrono::sys_days> make_date(int year, unsigned month, int day) {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return date;
}

// 17/May/2015:10:05:03 +0000
inline std::optional<weir::EventTime> parse_access_time(std::string_view text) {
  if (text.size() != 26 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[20] != ' ' ||
      (text[21] != '+' && text[21] != '-')) {
    return std::nullopt;
  }
  const auto day = parse_number(text.substr(0, 2), 31);
  const auto month = parse_month(text.substr(3, 3));
  const auto year = parse_number(text.substr(7, 4), 9999);
  const auto time_of_day = parse_time_of_day(text.substr(12, 8));
  const auto zone_hour = parse_number(text.substr(22, 2), 23);
  const auto zone_minute = parse_number(text.substr(24, 2), 59);
  if (!day || !month || !year || !time_of_day || !zone_hour || !zone_minute) return std::nullopt;
  const auto date = make_date(*year, *month, *day);
  if (!date) return std::nullopt;
  const auto zone = std::chrono::hours{*zone_hour} + std::chrono::minutes{*zone_minute};
  const auto local = *date + *time_of_day;
  return weir::EventTime::of(text[21] == '+' ? local - zone : local + zone);
}

// For Stream::parse.
inline weir::Result<Access> parse_access(const weir::TextLine& line) {
  using weir::Errc;
  using weir::Error;
  const std::string_view text = line.text;
  const std::size_t space = text.find(' ');
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (space == std::string_view::npos || open == std::string_view::npos ||
      close == std::string_view::npos) {
    return Error{Errc::bad_record, "not a line of a combined log"};
  }
  const auto address = parse_address(text.substr(0, space));
  if (!address) {
    return Error{Errc::bad_record,
                 "'" + std::string(text.substr(0, space)) + "' is no IPv4 address"};
  }
  const auto at = parse_access_time(text.substr(open + 1, close - open - 1));
  if (!at) {
    return Error{Errc::bad_record,
                 "'" + std::string(text.substr(open + 1, close - open - 1)) + "' is no time"};
  }
  // "GET /docs/ HTTP/1.1"
  std::string_view request = text.substr(close);
  request.remove_prefix(std::min(request.size(), request.find('"')));
  const std::size_t begin = request.find(' ');
  std::string_view path;
  if (begin != std::string_view::npos) {
    path = request.substr(begin + 1);
    path = path.substr(0, path.find_first_of(" \""));
  }
  return Access{*at, *address, std::string(path)};
}
