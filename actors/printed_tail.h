// The last rows that print() sinks of a job have put out, until a client asks for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "actors/job_status.h"

namespace weir {

// Text with a position: who asks again from where it stopped gets what came since. Bounded: the oldest rows go first, and
// whoever had not read them learns how many there were. Not thread-safe.
class PrintedTail {
 public:
  static constexpr std::size_t bytes_max = 512 * 1024;

  // Whole lines; and rows behind them that are lost already.
  void append(std::string_view lines, std::uint64_t lost_rows) {
    text_ += lines;
    rows_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n')) + lost_rows;
    if (text_.size() <= bytes_max) return;
    const std::size_t cut = text_.find('\n', text_.size() - bytes_max) + 1;
    first_ += cut;
    text_.erase(0, cut);
  }

  [[nodiscard]] PrintedRows read(std::uint64_t from) const {
    const std::uint64_t begin = std::clamp<std::uint64_t>(from, first_, first_ + text_.size());
    return {text_.substr(begin - first_), first_ + text_.size(), rows_};
  }

 private:
  std::string text_;
  std::uint64_t first_ = 0;  // position of its first byte
  std::uint64_t rows_ = 0;   // up to its end, with those that are lost
};

}  // namespace weir
