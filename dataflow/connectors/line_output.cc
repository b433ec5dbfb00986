#include "dataflow/connectors/line_output.h"

#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "dataflow/connectors/file_descriptor.h"

namespace weir {
namespace {

class StandardOutput final : public LineOutput {
 public:
  [[nodiscard]] Result<void> write(std::string_view lines) override {
    const std::lock_guard lock(mutex_);  // a write to a pipe may be taken in parts
    while (!lines.empty()) {
      const ssize_t written = ::write(STDOUT_FILENO, lines.data(), lines.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        return Error{Errc::output_failed,
                     "cannot write to standard output: " + last_system_reason()};
      }
      lines.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

 private:
  std::mutex mutex_;
};

}  // namespace

std::shared_ptr<LineOutput> standard_output() {
  // Never destroyed: tasks that were given up may still write when the process exits.
  static const auto* output = new std::shared_ptr<LineOutput>(std::make_shared<StandardOutput>());
  return *output;
}

}  // namespace weir
