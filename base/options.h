// Options of a job: declared by asking for them, given on the command line or in a configuration
// file.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace weir {

// What is known of one declared option.
struct DeclaredOption {
  std::string name;  // without dashes
  std::string help;
  std::string type;               // "text", "number" …, for people
  std::string default_text = {};  // shown in the help
  bool required = false;
  friend bool operator==(const DeclaredOption&, const DeclaredOption&) = default;
};

// An option's text, and where it was given: empty for the command line, else a file.
struct GivenOption {
  std::string text;
  std::string file = {};
};

// The values as given, and what was declared; mistakes are collected, so that all are told at once.
// Not thread-safe.
class Options {
 public:
  Options() = default;
  // Values by option name.
  explicit Options(std::map<std::string, GivenOption> given) : given_(std::move(given)) {}

  // The option's text if it was given. Records the declaration.
  [[nodiscard]] std::optional<std::string> declare(DeclaredOption option);

  // From here on the option has this text, whatever was given; a mere default is given by it.
  void resolve(const std::string& name, std::string text) { given_[name].text = std::move(text); }
  // Everything that was given, with what has become of it.
  [[nodiscard]] const std::map<std::string, GivenOption>& given() const { return given_; }

  void add_mistake(std::string sentence) { mistakes_.push_back(std::move(sentence)); }

  [[nodiscard]] const std::vector<DeclaredOption>& declared() const { return declared_; }
  // What was wrong with declared options, and each given one that nobody declared.
  [[nodiscard]] std::vector<std::string> mistakes() const;

 private:
  std::map<std::string, GivenOption> given_;
  std::vector<DeclaredOption> declared_;
  std::vector<std::string> mistakes_;
};

// Reads a duration: a whole number with unit ms, s, m, h or d ("500ms", "10s").
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
// Reads a size in bytes: a whole number, alone or with unit KB, MB, GB or TB (powers of 1,024)
// ("64KB").
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);
// The same, for people: "1.5 MB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// How an option of type T is read. T is std::string, bool, a number or Duration.
template <class T>
struct OptionType;

template <>
struct OptionType<std::string> {
  static constexpr std::string_view name = "text";
  static Result<std::string> parse(std::string_view text) { return std::string(text); }
  static std::string text(const std::string& value) { return value; }
};

template <>
struct OptionType<bool> {
  static constexpr std::string_view name = "true or false";
  static Result<bool> parse(std::string_view text) {
    if (text == "true" || text == "1" || text.empty()) return true;
    if (text == "false" || text == "0") return false;
    return Error{Errc::bad_option, "must be true or false"};
  }
  static std::string text(bool value) { return value ? "true" : "false"; }
};

template <>
struct OptionType<Duration> {
  static constexpr std::string_view name = "duration, such as 500ms, 10s, 2h";
  static Result<Duration> parse(std::string_view text) { return parse_duration(text); }
  static std::string text(Duration value) { return std::to_string(value.count()) + "ms"; }
};

// A number of bytes, at least 1, as an option.
struct ByteSize {
  std::uint64_t bytes;
};
template <>
struct OptionType<ByteSize> {
  static constexpr std::string_view name = "size, such as 64KB, 16MB";
  static Result<ByteSize> parse(std::string_view text) {
    const auto bytes = parse_size(text);
    if (!bytes) return bytes.error();
    if (*bytes == 0) return Error{Errc::bad_option, "must be at least 1"};
    return ByteSize{*bytes};
  }
  static std::string text(ByteSize size) { return size_text(size.bytes); }
};

template <class N>
requires(std::integral<N> || std::floating_point<N>) struct OptionType<N> {
  static constexpr std::string_view name = std::integral<N> ? "whole number" : "number";
  static Result<N> parse(std::string_view text) {
    N value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::result_out_of_range) {
      return Error{Errc::bad_option, "is out of range for a " + std::string(name)};
    }
    if (code != std::errc{} || end != text.data() + text.size()) {
      return Error{Errc::bad_option, "must be a " + std::string(name)};
    }
    return value;
  }
  static std::string text(N value) { return std::to_string(value); }
};

}  // namespace weir
