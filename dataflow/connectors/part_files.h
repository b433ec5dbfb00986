// How an output directory is laid out: files that a job is still writing are hidden, and a rename
// shows them.
//
//   part-<subtask>-<number>                          complete and committed
//   .part-<subtask>-<number>.inprogress.<16 hex digits>  being written, or written and not
//   committed; the digits keep
//                                                    attempts of one subtask apart
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "dataflow/sink.h"

namespace weir {

// A file that a writer has finished: what a committable of a file sink says. Names are within the
// directory.
struct PartFile {
  std::string hidden_name;
  std::string final_name;
  std::uint64_t bytes = 0;
  friend bool operator==(const PartFile&, const PartFile&) = default;
};

[[nodiscard]] PartFile part_file(SubtaskIndex subtask, std::uint64_t number, std::uint64_t attempt);
[[nodiscard]] bool is_final_name(std::string_view name);
[[nodiscard]] bool is_hidden_name(std::string_view name);

// Whether a job may write to the directory. Without `overwrite` it must have no visible content, or
// not exist; with it, its content must be output of this kind, for it will be deleted.
[[nodiscard]] Result<void> check_output(const std::string& directory, bool overwrite);

// Shows part files and replaces earlier output.
//
// prepare() makes the directory and locks it against other jobs, until commit or abort. Hidden
// files of jobs that have died are removed. With `overwrite`, earlier part files stay until the new
// ones have taken their place in commit, so a job that fails leaves what was there. commit() leaves
// nothing hidden; abort() neither, nor a directory that prepare() has made. Not thread-safe; blocks
// for the disk.
[[nodiscard]] std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory,
                                                                      bool overwrite);

}  // namespace weir
