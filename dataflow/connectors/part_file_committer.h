// Shows part files and replaces earlier output.
#pragma once

#include <memory>
#include <string>

#include "dataflow/sink.h"

namespace weir {

// prepare() makes the directory and locks it against other jobs, until commit or abort. Hidden
// files of jobs that have died are removed. With `overwrite`, earlier part files stay until new
// ones have taken their place in the first commit, so a job that fails leaves what was there.
// commit() leaves nothing hidden; nor does abort(), which also removes a directory that prepare()
// has made. Not thread-safe; waits for the disk.
[[nodiscard]] std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory,
                                                                      bool overwrite);

}  // namespace weir
