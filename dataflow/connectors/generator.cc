#include "dataflow/connectors/generator.h"

#include "base/row_text.h"

namespace weir {

Result<void> check_options(const GeneratorOptions& options) {
  const auto rate = options.records_per_second;
  if (!rate || *rate > 0) return {};
  std::string message = "generator: records_per_second must be above 0; it is ";
  append_text(message, *rate);
  return Error{Errc::invalid_plan, std::move(message)};
}

std::string describe_options(const GeneratorOptions& options) {
  std::string text;
  if (options.count) text += " of " + std::to_string(*options.count);
  if (options.records_per_second) {
    text += " at ";
    append_text(text, *options.records_per_second);
    text += "/s";
  }
  return text;
}

}  // namespace weir
