// How a child learns that its parent has gone or wants it gone. See child_processes.h.
#pragma once

#include <functional>
#include <memory>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weir {

// The pipe that this process was started with, or none if it was not started as a child of
// ChildProcesses. Takes it out of the environment and marks it close-on-exec, so that programs
// started by this one do not take it for theirs. Requires that no other thread runs yet.
[[nodiscard]] FileDescriptor take_liveness_pipe();

// A thread that waits for the end of a pipe.
class LivenessWatch {
 public:
  // Calls `on_end` once, on the watch's thread, when the other end of `pipe` is closed. It must not
  // destroy the watch. Fails if the system gives no thread or descriptor.
  [[nodiscard]] static Result<std::unique_ptr<LivenessWatch>> create(FileDescriptor pipe,
                                                                     std::function<void()> on_end);
  LivenessWatch(const LivenessWatch&) = delete;
  LivenessWatch& operator=(const LivenessWatch&) = delete;
  // Stops watching; waits for an `on_end` under way.
  ~LivenessWatch();

 private:
  class Impl;
  explicit LivenessWatch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
