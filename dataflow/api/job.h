// A job as its program describes it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"
#include "dataflow/api/changelog_stream.h"
#include "dataflow/api/connected_streams.h"
#include "dataflow/api/interval_join.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/output_directory.h"
#include "dataflow/api/stream.h"
#include "dataflow/api/temporal_join.h"
#include "dataflow/api/window_join.h"
#include "dataflow/api/windowed_stream.h"
#include "dataflow/connectors/descriptions.h"
#include "dataflow/connectors/text_files.h"
#include "dataflow/plan/plan_builder.h"

namespace weir {

// Built by weir::launch, which hands it to the program's describe function, or by a program that
// runs jobs itself (weir::run). describe only describes: it may be called more than once and must
// not do the work.
class Job {
 public:
  // `shipped`: where files that travelled with the job are, by the path they were shipped from.
  // `base_directory`: what options that are known to be paths are made absolute by, for a job that will run elsewhere;
  // none: they stay as they are.
  explicit Job(std::string name, Options options = {},
               std::map<std::string, std::string> shipped = {},
               std::filesystem::path base_directory = {})
      : options_(std::move(options)),
        shipped_(std::move(shipped)),
        base_directory_(std::move(base_directory)) {
    builder_.plan().job_name = std::move(name);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Declares an option --name and returns its value; --help shows it. Without a default it must be
  // given.
  template <class T = std::string>
  [[nodiscard]] T option(const std::string& name, const std::string& help) {
    return read_option<T>(
        {.name = name, .help = help, .type = std::string(OptionType<T>::name), .required = true},
        T{});
  }
  template <class T = std::string>
  [[nodiscard]] T option(const std::string& name, const std::string& help, T otherwise) {
    return read_option<T>({.name = name,
                           .help = help,
                           .type = std::string(OptionType<T>::name),
                           .default_text = OptionType<T>::text(otherwise)},
                          otherwise);
  }

  // Where results go: csv_files(job.output()). Declares --output, which must be given, and
  // --overwrite.
  [[nodiscard]] OutputDirectory output() {
    std::string path =
        made_absolute("output", option<std::string>("output", "directory for the results"));
    return {std::move(path), option<bool>("overwrite", "replace results that are there", false)};
  }
  // How text files are cut for their readers: text_files(input).with_split_size(job.split_size()).
  // Declares --split-size.
  [[nodiscard]] std::uint64_t split_size() {
    return option<ByteSize>("split-size", "bytes of a file that a reader takes at a time",
                            {default_split_bytes})
        .bytes;
  }

  // A file that the job needs wherever it runs: it travels with the job. Returns where it is: on a worker a copy, else
  // `path` itself.
  [[nodiscard]] std::string ship(const std::string& path) {
    ships_.push_back(path);
    const auto found = shipped_.find(path);
    return found == shipped_.end() ? path : found->second;
  }

  // Begins a stream: text_files(pattern), collection(values) …
  template <SourceDescription S>
  [[nodiscard]] Stream<typename S::value_type> source(std::string name, S source) {
    using T = typename S::value_type;
    LogicalNode node;
    node.name = std::move(name);
    node.name_given = true;
    node.kind = source.describe();
    node.role = StageRole::source;
    node.bounded = source.bounded();
    node.factory = [source] { return source.make_reader(); };
    node.make_enumerator = [source] { return source.make_enumerator(); };
    node.check = [source] { return source.check(); };
    if constexpr (requires { source.paths(); }) node.paths = source.paths();
    node.outputs.push_back(port_type_of<T>());
    node.output_names.emplace_back();
    return Stream<T>(builder_, {Origin{builder_.add(std::move(node)), {}, {}, nullptr}});
  }

  // For launch and run.
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] LogicalPlan& plan() { return builder_.plan(); }
  [[nodiscard]] const std::vector<std::string>& ships() const { return ships_; }

 private:
  template <class T>
  [[nodiscard]] T read_option(DeclaredOption declaration, T otherwise) {
    const std::string name = declaration.name;
    const auto text = options_.declare(std::move(declaration));
    if (!text) return otherwise;
    auto value = OptionType<T>::parse(*text);
    if (value) return std::move(*value);
    options_.add_mistake("option --" + name + " is '" + *text + "' but " + value.error().message);
    return otherwise;
  }

  [[nodiscard]] std::string made_absolute(const std::string& option_name, std::string path) {
    const std::filesystem::path given(path);
    if (base_directory_.empty() || path.empty() || given.is_absolute()) return path;
    path = (base_directory_ / given).string();
    options_.resolve(option_name, path);
    return path;
  }

  Options options_;
  std::map<std::string, std::string> shipped_;
  std::filesystem::path base_directory_;
  std::vector<std::string> ships_;
  PlanBuilder builder_;
};

}  // namespace weir
