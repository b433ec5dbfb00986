// A source of consecutive numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "dataflow/source.h"

namespace weir {

class Sequence {
 public:
  using value_type = std::int64_t;

  Sequence(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Result<void> check() const;
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const;
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const;

 private:
  std::int64_t first_;
  std::int64_t last_;
};

// first, first + 1, … last. Not all 2^64 numbers at once.
[[nodiscard]] inline Sequence from_sequence(std::int64_t first, std::int64_t last) {
  return {first, last};
}

}  // namespace weir
