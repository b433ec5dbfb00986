// Shows part files and replaces earlier output.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/time.h"
#include "dataflow/sink.h"

namespace weir {

// How long restore() waits for an earlier process of the job to let go of the output; then it fails with
// Errc::output_failed, and may be tried again.
struct LockPatience {
  int looks = 50;
  Duration between_looks{100};
  std::function<void(Duration)> wait = pause_thread;  // for tests to put something else
};

// prepare() makes the directory and locks it against other jobs, and removes hidden files of jobs
// that have died; restore() locks it too. The lock is held until finish, abort or destruction.
//
// commit() checks that all files are there as they were written before it shows the first. It never
// replaces a visible file but for those of an earlier job with `overwrite`: they stay until a commit
// has something to show in their place, or the job finishes; which they are is kept in the
// directory, for the committers that follow after a crash.
//
// Hidden files that were there at restore() are removed after the first commit that shows something
// newer: a writer finishes what it is restored from (see PartFileWriter), so the rest is nobody's.
// finish() and abort() leave nothing hidden and no empty buckets; abort() also removes a directory
// that prepare() has made, if it is empty. Not thread-safe; waits for the disk.
[[nodiscard]] std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory,
                                                                      bool overwrite,
                                                                      LockPatience patience = {});

}  // namespace weir
