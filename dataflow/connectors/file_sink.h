// Sinks that write rows into the files of a directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/row_text.h"
#include "dataflow/connectors/bucket_format.h"
#include "dataflow/connectors/part_file_committer.h"
#include "dataflow/connectors/part_file_writer.h"
#include "dataflow/connectors/part_files.h"
#include "dataflow/connectors/rolling_policy.h"
#include "dataflow/sink.h"

namespace weir {

struct FileSinkOptions {
  bool overwrite = false;      // replace what an earlier job has left in the directory
  bool header = false;         // CSV only: each file begins with the names of the columns
  RollingPolicy rolling = {};  // when a file is followed by another
  BucketFormat bucket = {};    // hourly(), daily() or a format: subdirectories by event time
};

// How a row becomes a line; see base/row_text.h.
struct CsvFormat {
  static constexpr std::string_view name = "CSV";
  static constexpr bool has_header = true;
  template <class T>
  static void append(std::string& out, const T& row) {
    append_csv(out, row);
  }
};
struct JsonFormat {
  static constexpr std::string_view name = "JSON";
  static constexpr bool has_header = false;
  template <class T>
  static void append(std::string& out, const T& row) {
    append_json(out, row);
  }
};
struct LineFormat {
  static constexpr std::string_view name = "text";
  static constexpr bool has_header = false;
  template <class T>
  static void append(std::string& out, const T& row) {
    append_text(out, row);
  }
};

template <RowWritable T, class Format>
class RowFileWriter final : public SinkOperator {
 public:
  RowFileWriter(std::string directory, PartFileOptions options, BucketFormat bucket)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        bucketed_(!bucket.empty()),
        bucketing_(std::move(bucket)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    parts_.emplace(directory_, context.subtask, options_);
    auto files = context.state->list<PartFile>("files in progress", StateKind::split_list);
    if (!files) return files.error();
    auto numbers = context.state->list<std::uint64_t>("next numbers", StateKind::union_list);
    if (!numbers) return numbers.error();
    files_ = *std::move(files);
    numbers_ = *std::move(numbers);
    if (files_->empty() && numbers_->empty()) return {};
    WEIR_TRY(parts_->restore({*files_, 0}));
    for (const std::uint64_t number : *numbers_) WEIR_TRY(parts_->restore({{}, number}));
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    const auto& batch = batch_cast<T>(*in);
    parts_->set_time(context_->clock->processing_time());
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      if (bucketed_) WEIR_TRY(enter_bucket(batch, i));
      std::string& buffer = parts_->buffer();
      Format::append(buffer, batch.values[i]);
      buffer += '\n';
      WEIR_TRY(parts_->end_row());
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    return parts_ ? parts_->next_roll() : std::nullopt;
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now,
                                                      Outputs& /*out*/) override {
    WEIR_TRY(parts_->roll_by_time(now));
    return StepResult::done;
  }

  [[nodiscard]] Result<StepResult> finish(Outputs& /*out*/) override {
    WEIR_TRY(parts_->finish());
    return StepResult::done;
  }
  [[nodiscard]] Result<void> prepare_snapshot(CheckpointId /*checkpoint*/) override {
    auto state = parts_->snapshot();
    if (!state) return state.error();
    *files_ = std::move(state->in_progress);
    *numbers_ = {state->next_number};
    return {};
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() override {
    const auto files = parts_->prepare_commit();
    if (!files) return files.error();
    std::vector<Committable> committables;
    for (const PartFile& file : *files) committables.push_back({to_bytes(file)});
    return committables;
  }
  [[nodiscard]] MakeDurable take_unsynced() override {
    // Shared because functions are copyable; it is synced once.
    auto files = std::make_shared<UnsyncedFiles>(parts_->take_unsynced());
    if (files->empty()) return {};
    return [files] { return files->sync(); };
  }

  void close() override { parts_.reset(); }

 private:
  [[nodiscard]] Result<void> enter_bucket(const Batch<T>& batch, std::size_t row) {
    if (batch.times.empty() || batch.times[row] == no_timestamp) {
      return Error{Errc::user_code, "'" + context_->operator_name +
                                        "' received a record without event time: put "
                                        ".event_time(…) before the sink, whose buckets need it"};
    }
    return parts_->enter_bucket(bucketing_.bucket_at(batch.times[row]));
  }

  std::string directory_;
  PartFileOptions options_;
  bool bucketed_;
  Bucketing bucketing_;
  const OperatorContext* context_ = nullptr;
  std::optional<PartFileWriter> parts_;  // while open
  // The state: each file goes on with one writer, and no writer uses a number that any has used.
  std::shared_ptr<std::vector<PartFile>> files_;
  std::shared_ptr<std::vector<std::uint64_t>> numbers_;
};

// Rows appear in `part-<subtask>-<number>` once a checkpoint that holds them is complete, and their
// file has been rolled; without checkpoints at the end of the job, all or none. Until the first
// commit the directory shows what was there before. See part_file_committer.h, rolling_policy.h.
template <class Format>
class FileSink {
 public:
  FileSink(std::string directory, FileSinkOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}

  [[nodiscard]] std::string describe() const {
    return std::string(Format::name) + " files in " + directory_;
  }
  [[nodiscard]] Result<void> check() const {
    if (options_.header && !Format::has_header) {
      return Error{Errc::invalid_plan, describe() + ": only CSV files have a header; leave it out"};
    }
    WEIR_TRY(options_.bucket.check(describe()));
    WEIR_TRY(options_.rolling.check(describe()));
    return check_output(directory_, options_.overwrite);
  }
  [[nodiscard]] std::vector<std::string> paths() const { return {directory_}; }
  template <RowWritable T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    PartFileOptions options{.rolling = options_.rolling, .header = {}};
    if constexpr (Format::has_header) {
      if (options_.header) options.header = csv_header<T>() + '\n';
    }
    return std::make_unique<RowFileWriter<T, Format>>(directory_, std::move(options),
                                                      options_.bucket);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const {
    return make_part_file_committer(directory_, options_.overwrite);
  }

 private:
  std::string directory_;
  FileSinkOptions options_;
};

[[nodiscard]] inline FileSink<CsvFormat> csv_files(std::string directory,
                                                   FileSinkOptions options = {}) {
  return {std::move(directory), std::move(options)};
}
// One JSON value a line.
[[nodiscard]] inline FileSink<JsonFormat> json_files(std::string directory,
                                                     FileSinkOptions options = {}) {
  return {std::move(directory), std::move(options)};
}
// Rows as people read them; strings as they are, but on one line.
[[nodiscard]] inline FileSink<LineFormat> line_files(std::string directory,
                                                     FileSinkOptions options = {}) {
  return {std::move(directory), std::move(options)};
}

}  // namespace weir
