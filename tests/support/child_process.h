// Runs a program and waits for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weir {

struct ChildResult {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
  long peak_rss_kb = 0;
  bool timed_out = false;  // and was killed
};

struct ChildOptions {
  std::chrono::milliseconds timeout{60'000};  // under sanitizers patience_factor as long
  // Called every few milliseconds while it runs, with its process id.
  std::function<void(pid_t)> while_running = {};
};

// Standard input is empty; output is captured whole.
[[nodiscard]] ChildResult run_program(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const ChildOptions& options = {});

// VmRSS of a running process; 0 if it is gone.
[[nodiscard]] long resident_kb(pid_t process);

}  // namespace weir
