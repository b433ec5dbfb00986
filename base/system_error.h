// What the operating system refused, as an Error.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace weir {

// The system's own words for an errno; thread-safe.
[[nodiscard]] inline std::string errno_text(int number) {
  return std::generic_category().message(number);
}

// The reason for the last failure of this thread: "No such file or directory".
[[nodiscard]] inline std::string last_system_reason() {
  return errno_text(errno);
}

// "cannot open /x/y: Permission denied"
[[nodiscard]] inline Error system_error(std::string_view what, int number,
                                        Errc code = Errc::system) {
  return {code, std::string(what) + ": " + errno_text(number)};
}

}  // namespace weir
