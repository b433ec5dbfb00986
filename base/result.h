// What a call that can fail without a bug returns: a value or an Error.
//
// The names follow std::expected, which g++ 12 has only with -std=c++23.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/errc.h"

namespace weir {

// Why something failed. The message is for people: whose fault, where, what to do.
struct Error {
  Errc code;
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Requires has_value().
  [[nodiscard]] T& value() & { return *checked(); }
  [[nodiscard]] const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  [[nodiscard]] T value() && { return std::move(*checked()); }
  [[nodiscard]] T& operator*() & { return *checked(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  // By value, so that `for (auto& row : *call())` keeps what it walks over.
  [[nodiscard]] T operator*() && { return std::move(*checked()); }
  [[nodiscard]] T* operator->() { return checked(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  // Requires !has_value().
  [[nodiscard]] const Error& error() const {
    WEIR_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  T* checked() {
    WEIR_CHECK(has_value());
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  void value() const { WEIR_CHECK(has_value()); }

  // Requires !has_value().
  [[nodiscard]] const Error& error() const {
    WEIR_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace weir

// Returns from the calling function with the error of `expression`, a Result, if it has one.
#define WEIR_TRY(expression)                               \
  do {                                                     \
    if (auto weir_result_ = (expression); !weir_result_) { \
      return weir_result_.error();                         \
    }                                                      \
  } while (false)
