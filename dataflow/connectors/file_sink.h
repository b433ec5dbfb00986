// Sinks that write rows into the files of a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/row_text.h"
#include "dataflow/connectors/part_file_committer.h"
#include "dataflow/connectors/part_file_writer.h"
#include "dataflow/connectors/part_files.h"
#include "dataflow/sink.h"

namespace weir {

struct FileSinkOptions {
  bool overwrite = false;  // replace what an earlier job has left in the directory
  bool header = false;     // CSV only: each file begins with the names of the columns
  // A file that has become larger is followed by another.
  std::uint64_t part_bytes_max = std::uint64_t{128} * 1024 * 1024;
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
  RowFileWriter(std::string directory, PartFileOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    parts_.emplace(directory_, context.subtask, options_);
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    const auto& values = batch_cast<T>(*in).values;
    std::string& buffer = parts_->buffer();
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      Format::append(buffer, values[i]);
      buffer += '\n';
      WEIR_TRY(parts_->end_row());
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() override {
    const auto files = parts_->finish();
    if (!files) return files.error();
    std::vector<Committable> committables;
    for (const PartFile& file : *files) committables.push_back({to_bytes(file)});
    return committables;
  }

  void close() override { parts_.reset(); }

 private:
  std::string directory_;
  PartFileOptions options_;
  std::optional<PartFileWriter> parts_;  // while open
};

// Rows appear in `part-<subtask>-<number>` when the job commits, all or none; until then the
// directory shows what was there before. See part_file_committer.h.
template <class Format>
class FileSink {
 public:
  FileSink(std::string directory, FileSinkOptions options)
      : directory_(std::move(directory)), options_(options) {}

  [[nodiscard]] std::string describe() const {
    return std::string(Format::name) + " files in " + directory_;
  }
  [[nodiscard]] Result<void> check() const {
    if (options_.header && !Format::has_header) {
      return Error{Errc::invalid_plan, describe() + ": only CSV files have a header; leave it out"};
    }
    return check_output(directory_, options_.overwrite);
  }
  [[nodiscard]] std::vector<std::string> paths() const { return {directory_}; }
  template <RowWritable T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    PartFileOptions options{.part_bytes_max = options_.part_bytes_max, .header = {}};
    if constexpr (Format::has_header) {
      if (options_.header) options.header = csv_header<T>() + '\n';
    }
    return std::make_unique<RowFileWriter<T, Format>>(directory_, std::move(options));
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
  return {std::move(directory), options};
}
// One JSON value a line.
[[nodiscard]] inline FileSink<JsonFormat> json_files(std::string directory,
                                                     FileSinkOptions options = {}) {
  return {std::move(directory), options};
}
// Rows as people read them; strings as they are, but on one line.
[[nodiscard]] inline FileSink<LineFormat> line_files(std::string directory,
                                                     FileSinkOptions options = {}) {
  return {std::move(directory), options};
}

}  // namespace weir
