// How an output directory is laid out: files that a job is still writing are hidden, and a rename
// shows them.
//
//   part-<subtask>-<number>                        committed
//   .part-<subtask>-<number>.inprogress.<attempt>  being written, or written and not yet committed
//
// The attempt is 16 hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace weir {

// A file that a writer has finished: the content of a committable. Names are within the directory.
struct PartFile {
  std::string hidden_name;
  std::string final_name;
  std::uint64_t bytes = 0;
  friend bool operator==(const PartFile&, const PartFile&) = default;
};

// One run of one subtask. The attempt is random, so that no two share a file.
struct WriterId {
  SubtaskIndex subtask;
  std::uint64_t attempt = 0;
};

// The writer's file number so many, from 0; no bytes yet.
[[nodiscard]] PartFile part_file(WriterId writer, std::uint64_t number);
[[nodiscard]] bool is_final_name(std::string_view name);
[[nodiscard]] bool is_hidden_name(std::string_view name);

// What is in an output directory.
struct OutputContent {
  bool exists = false;
  std::vector<std::string> final_names;
  std::vector<std::string> hidden_names;
  std::vector<std::string> foreign_names;  // all else, sorted
};

// Errc::output_exists if it is a file, Errc::output_failed if it cannot be read.
[[nodiscard]] Result<OutputContent> look_into(const std::string& directory);

// Whether a job may write to the directory. Without `overwrite` it must have no visible content, or
// not exist; with it, its content must be output of this kind, for it will be deleted.
[[nodiscard]] Result<void> check_output(const std::string& directory, bool overwrite);

// Errc::output_failed: "cannot <what> output '<path>': <reason>".
[[nodiscard]] Error output_failed(const std::string& what, const std::string& path,
                                  const std::string& reason);

}  // namespace weir
