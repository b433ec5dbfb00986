#include "dataflow/connectors/line_output.h"

#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/file_descriptor.h"
#include "base/system_error.h"

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

std::shared_ptr<LineOutput>& current_output() {
  // Never destroyed: tasks that were given up may still write when the process exits.
  static auto* output = new std::shared_ptr<LineOutput>(std::make_shared<StandardOutput>());
  return *output;
}

}  // namespace

std::shared_ptr<LineOutput> standard_output() {
  return current_output();
}

void redirect_standard_output(std::shared_ptr<LineOutput> output) {
  current_output() = std::move(output);
}

}  // namespace weir
