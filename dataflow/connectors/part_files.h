// How an output directory is laid out: files that a job is still writing are hidden, and a rename
// shows them.
//
//   part-<subtask>-<number>                        committed
//   .part-<subtask>-<number>.inprogress.<attempt>  being written, or written and not yet committed
//   .replaced-files                                names, a line each, of an earlier job's part
//                                                  files, until the first commit has removed them
//
// The attempt is 16 hexadecimal digits. With buckets, part files are in subdirectories, named by the
// bucket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace weir {

// A file that a writer has written: the content of a committable. Names are within the output
// directory and begin with the bucket, if there is one.
struct PartFile {
  std::string hidden_name;
  std::string final_name;
  std::uint64_t bytes = 0;
  friend bool operator==(const PartFile&, const PartFile&) = default;
};

// One run of one subtask. The attempt is random, so that no two share a hidden file.
struct WriterId {
  SubtaskIndex subtask;
  std::uint64_t attempt = 0;
};

inline constexpr std::string_view replaced_files_name = ".replaced-files";

// The writer's file number so many, from 0; no bytes yet. Without buckets the bucket is empty.
[[nodiscard]] PartFile part_file(WriterId writer, std::uint64_t number,
                                 const std::string& bucket = {});
// The hidden name that a part file has while another attempt writes it.
[[nodiscard]] std::string as_written_by(WriterId writer, const std::string& hidden_name);
// Of names without a bucket.
[[nodiscard]] bool is_final_name(std::string_view name);
[[nodiscard]] bool is_hidden_name(std::string_view name);
// Whether the names could be those of a part file, inside the output directory.
[[nodiscard]] bool is_well_formed(const PartFile& file);

// The directory of a name, within the output directory; empty without a bucket.
[[nodiscard]] std::string bucket_of(const std::string& name);
// Whether a bucket's name is a path down from the output directory, without hidden parts.
[[nodiscard]] bool is_bucket(std::string_view bucket);

// What is in an output directory, and below it. Names are within the directory.
struct OutputContent {
  bool exists = false;
  std::vector<std::string> final_names;
  std::vector<std::string> hidden_names;
  std::vector<std::string> foreign_names;  // all else, sorted
  std::vector<std::string> directories;    // each before those in it
};

// Errc::output_exists if it is a file, Errc::output_failed if it cannot be read.
[[nodiscard]] Result<OutputContent> look_into(const std::string& directory);

// Whether a job may write to the directory. Without `overwrite` it must have no visible content, or
// not exist; with it, its content must be output of this kind, for it will be deleted.
[[nodiscard]] Result<void> check_output(const std::string& directory, bool overwrite);

// Makes the names of files in a directory durable.
[[nodiscard]] Result<void> sync_directory(const std::string& directory);

// Errc::output_failed: "cannot <what> output '<path>': <reason>".
[[nodiscard]] Error output_failed(const std::string& what, const std::string& path,
                                  const std::string& reason);
// The same as Errc::output_lost.
[[nodiscard]] Error output_lost(const std::string& what, const std::string& path,
                                const std::string& reason);
// What the system has said: Errc::output_lost if the path is gone.
[[nodiscard]] Error output_error(const std::string& what, const std::string& path,
                                 const std::error_code& reason);

}  // namespace weir
