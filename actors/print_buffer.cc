#include "actors/print_buffer.h"

#include <algorithm>
#include <utility>

namespace weir {

Result<void> PrintBuffer::write(std::string_view lines) {
  {
    const std::scoped_lock lock(mutex_);
    if (kept_.dropped == 0 && kept_.text.size() + lines.size() <= bytes_max) {
      kept_.text += lines;
    } else {  // also what would fit behind a gap: the gap is told where it is
      kept_.dropped += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
    }
  }
  return log_->write(lines);
}

PrintBuffer::Taken PrintBuffer::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(kept_, {});
}

}  // namespace weir
