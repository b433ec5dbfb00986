// Writes the rows of one subtask into hidden part files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/system_error.h"
#include "dataflow/connectors/part_files.h"

namespace weir {

struct PartFileOptions {
  std::uint64_t part_bytes_max = 0;  // a file that is larger is finished, and another one begun
  std::string header = {};           // what each file begins with
};

// Rows go through a buffer, to which the caller appends. A file is made once there is something to
// write, so a subtask without rows leaves none. Files that finish() has not handed over are removed
// by the destructor. Errors are Errc::output_failed, with file and system's reason; after one, only
// destruction is left. Not thread-safe.
class PartFileWriter {
 public:
  PartFileWriter(std::string directory, SubtaskIndex subtask, PartFileOptions options);
  PartFileWriter(const PartFileWriter&) = delete;
  PartFileWriter& operator=(const PartFileWriter&) = delete;
  ~PartFileWriter();

  // To append one row to, line end included, before end_row().
  [[nodiscard]] std::string& buffer() { return buffer_; }
  [[nodiscard]] Result<void> end_row() {
    if (buffer_.size() < buffer_full_at_) return {};
    return make_room();
  }

  // Everything so far, durable. What follows goes into new files.
  [[nodiscard]] Result<std::vector<PartFile>> finish();

 private:
  void begin_part();
  [[nodiscard]] Result<void> make_room();
  // The least size of the buffer at which it is full, or the part with it too large.
  [[nodiscard]] std::size_t buffer_limit() const;
  [[nodiscard]] Result<void> flush();
  [[nodiscard]] Result<void> create();
  [[nodiscard]] Result<void> finish_part();
  [[nodiscard]] bool part_has_rows() const;
  [[nodiscard]] std::string path_of(const PartFile& part) const;
  [[nodiscard]] Error failed(const std::string& what) const;

  std::string directory_;
  WriterId writer_;
  PartFileOptions options_;
  std::uint64_t number_ = 0;

  std::string buffer_;
  std::size_t buffer_full_at_ = 0;  // see buffer_limit()
  FileDescriptor file_;             // of part_, once made
  PartFile part_;                   // being written; its bytes are without those in the buffer
  std::vector<PartFile> finished_;  // and not handed over
};

}  // namespace weir
