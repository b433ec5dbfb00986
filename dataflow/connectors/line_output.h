// Where printed lines go: a seam, so that tests and remote clients can receive them.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"

namespace weir {

// Thread-safe.
class LineOutput {
 public:
  virtual ~LineOutput() = default;
  // Takes whole lines, each with its end; those of one call stay together. Keeps nothing back.
  [[nodiscard]] virtual Result<void> write(std::string_view lines) = 0;
};

// The standard output of this process; the same object on every call, from any thread.
[[nodiscard]] std::shared_ptr<LineOutput> standard_output();

// Makes standard_output() return another from now on: where a process's rows go to a client elsewhere. Requires that no
// other thread runs yet.
void redirect_standard_output(std::shared_ptr<LineOutput> output);

}  // namespace weir
