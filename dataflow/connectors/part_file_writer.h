// Writes the rows of one subtask into hidden part files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/system_error.h"
#include "base/time.h"
#include "dataflow/connectors/part_files.h"
#include "dataflow/connectors/rolling_policy.h"
#include "dataflow/connectors/unsynced_files.h"

namespace weir {

struct PartFileOptions {
  RollingPolicy rolling = {};
  std::string header = {};  // what each file begins with
};

// What a checkpoint holds of a writer. After a restore the files are divided among the writers, each
// to one; the number of each writer is told to all.
struct PartFileWriterState {
  std::vector<PartFile> in_progress;  // with the bytes that are valid
  std::uint64_t next_number = 0;
  friend bool operator==(const PartFileWriterState&, const PartFileWriterState&) = default;
};

// One file per bucket is in progress. Rows go through its buffer, to which the caller appends. A
// file is made once there is something to write, so a subtask without rows leaves none. Of many
// buckets only some have a buffer and an open file at a time.
//
// At a barrier, snapshot() and prepare_commit() may come in either order: what they return is
// everything so far, and none of it twice. It is durable once what take_unsynced() returns then has
// been synced, for which the writer is not needed. Files that neither has returned are removed by the
// destructor. After a restore, what was in progress is copied up to its valid length and finished at
// once, so it is among the next committables.
//
// Errors are Errc::output_failed, with file and system's reason; after one, only destruction is
// left. Not thread-safe.
class PartFileWriter {
 public:
  PartFileWriter(std::string directory, SubtaskIndex subtask, PartFileOptions options);
  PartFileWriter(const PartFileWriter&) = delete;
  PartFileWriter& operator=(const PartFileWriter&) = delete;
  ~PartFileWriter();

  // Before any row: goes on from checkpointed states, of this writer and others.
  [[nodiscard]] Result<void> restore(const PartFileWriterState& state);

  // Of the rows that follow.
  void set_time(ProcessingTime now) { now_ = now; }
  [[nodiscard]] Result<void> enter_bucket(const std::string& bucket) {
    if (bucket == bucket_) return {};
    return change_bucket(bucket);
  }

  // To append one row to, line end included, before end_row(), which invalidates it.
  [[nodiscard]] std::string& buffer() {
    if (current_ == nullptr) begin_part();
    return current_->buffer;
  }
  [[nodiscard]] Result<void> end_row() {
    current_->last_row = now_;
    if (current_->buffer.size() < current_->buffer_full_at) return {};
    return make_room();
  }

  // When roll_by_time() is to be called, if at all.
  [[nodiscard]] std::optional<ProcessingTime> next_roll() const;
  // Finishes the files that are old or inactive.
  [[nodiscard]] Result<void> roll_by_time(ProcessingTime now);

  // What has been finished since the last call, and what the policy finishes now.
  [[nodiscard]] Result<std::vector<PartFile>> prepare_commit();
  // What is in progress.
  [[nodiscard]] Result<PartFileWriterState> snapshot();
  // Of all that the two have returned, what has not been handed over before.
  [[nodiscard]] UnsyncedFiles take_unsynced() { return std::exchange(unsynced_, {}); }
  // No rows follow: finishes everything.
  [[nodiscard]] Result<void> finish();

 private:
  struct Part {
    PartFile file;  // its bytes are without those in the buffer
    ProcessingTime first_row;
    ProcessingTime last_row;
    std::string buffer;
    std::size_t buffer_full_at = 0;  // see buffer_limit()
    FileDescriptor descriptor;       // none before the first flush, and while it is at rest
    bool active = false;             // has a buffer; and a descriptor, once it was flushed
    bool made = false;               // the file
    bool unsynced = false;           // flushed to, and not in unsynced_
    bool in_snapshot = false;        // a checkpoint may refer to it
  };
  struct FinishedPart {
    PartFile file;
    bool in_snapshot = false;
  };

  void begin_part();
  void activate(Part& part);
  [[nodiscard]] Result<void> change_bucket(const std::string& bucket);
  [[nodiscard]] Result<void> rest_all();
  [[nodiscard]] Result<void> make_room();
  // The least size of the buffer at which it is full, or the part with it too large.
  [[nodiscard]] std::size_t buffer_limit(const Part& part) const;
  [[nodiscard]] Result<void> flush(Part& part);
  [[nodiscard]] Result<void> open(Part& part);
  [[nodiscard]] Result<void> make_bucket(const std::string& bucket) const;
  [[nodiscard]] Result<void> flush_to_sync_later(Part& part);
  template <class Rolls>
  [[nodiscard]] Result<void> finish_parts(Rolls rolls);
  [[nodiscard]] Result<void> finish_part(Part& part);
  [[nodiscard]] Result<void> roll_at_checkpoint();
  [[nodiscard]] Result<void> finish_restored(const PartFile& file);
  [[nodiscard]] Result<void> copy_beginning(const PartFile& file, const std::string& from,
                                            const std::string& to) const;
  void remove(const PartFile& file) const;
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] Error failed(const std::string& what, const PartFile& file) const;

  std::string directory_;
  WriterId writer_;
  PartFileOptions options_;
  std::uint64_t next_number_ = 0;
  ProcessingTime now_;

  std::map<std::string, Part> parts_;  // in progress, by bucket
  std::string bucket_;                 // of the rows that come
  Part* current_ = nullptr;            // the part of that bucket; null: its next row begins one
  std::size_t active_parts_ = 0;
  ProcessingTime rolls_from_ = ProcessingTime::max();  // not later than any part's
  bool has_checkpoints_ = false;
  std::vector<FinishedPart> finished_;  // and not handed over
  UnsyncedFiles unsynced_;
};

}  // namespace weir
