// The names of the jobs that golden_time.h describes.
#pragma once

#include <array>
#include <string_view>

namespace weir {

inline constexpr std::array<std::string_view, 7> jobs_of_time{
    "sessions", "sliding", "windows", "intervals", "temporal", "async", "loop"};

}  // namespace weir
