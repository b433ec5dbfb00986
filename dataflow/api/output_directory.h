// Where a job's results go, as the command line says it.
#pragma once

#include <string>
#include <utility>

#include "dataflow/connectors/file_sink.h"

namespace weir {

// The values of --output and --overwrite.
struct OutputDirectory {
  std::string path;
  bool overwrite = false;
};

namespace output_detail {

inline FileSinkOptions with_overwrite(FileSinkOptions options, const OutputDirectory& directory) {
  options.overwrite = options.overwrite || directory.overwrite;
  return options;
}

}  // namespace output_detail

[[nodiscard]] inline FileSink<CsvFormat> csv_files(const OutputDirectory& directory,
                                                   FileSinkOptions options = {}) {
  return csv_files(directory.path, output_detail::with_overwrite(std::move(options), directory));
}
[[nodiscard]] inline FileSink<JsonFormat> json_files(const OutputDirectory& directory,
                                                     FileSinkOptions options = {}) {
  return json_files(directory.path, output_detail::with_overwrite(std::move(options), directory));
}
[[nodiscard]] inline FileSink<LineFormat> line_files(const OutputDirectory& directory,
                                                     FileSinkOptions options = {}) {
  return line_files(directory.path, output_detail::with_overwrite(std::move(options), directory));
}

}  // namespace weir
