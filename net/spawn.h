// Starting a program from a process with many threads.
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "net/child_processes.h"

namespace weir {

struct SpawnedProcess {
  pid_t process = -1;            // to be waited for by the caller
  FileDescriptor exited;         // pidfd: readable once it has ended
  FileDescriptor liveness;       // write end of its liveness pipe
  off_t stderr_begin = 0;        // size of stderr_file before it wrote anything
  bool executable_busy = false;  // nothing was started: somebody still has it open for writing
};

// As ChildProcesses describes. The child is killed when the calling thread ends.
[[nodiscard]] Result<SpawnedProcess> spawn(const ChildSpec& spec);

}  // namespace weir
