// Rows of print() on their way from a task process to the client that watches the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "dataflow/connectors/line_output.h"

namespace weir {

// Passes rows on to an output, the task's own log, and keeps a copy until it is taken. Bounded: rows that find no room in
// the copy are counted instead. Thread-safe.
class PrintBuffer final : public LineOutput {
 public:
  static constexpr std::size_t bytes_max = 256 * 1024;

  explicit PrintBuffer(std::shared_ptr<LineOutput> log) : log_(std::move(log)) {}

  [[nodiscard]] Result<void> write(std::string_view lines) override;

  struct Taken {
    std::string text;
    std::uint64_t dropped = 0;  // rows after `text` that found no room
  };
  // What came since the last call.
  [[nodiscard]] Taken take();

 private:
  std::shared_ptr<LineOutput> log_;
  std::mutex mutex_;
  Taken kept_;
};

}  // namespace weir
