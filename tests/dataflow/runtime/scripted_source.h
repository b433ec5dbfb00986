// A source whose subtasks put out what a test says, each on its own.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/api/job.h"
#include "dataflow/source.h"
#include "tests/dataflow/runtime/recording_transport.h"

namespace weir {

// What has been put in for each subtask and not been read yet; EndOfInput ends it. Shared with the source.
using Script = std::vector<std::deque<Element>>;

class ScriptedReader final : public SourceOperator {
 public:
  explicit ScriptedReader(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    subtask_ = context.subtask.value;
    return {};
  }
  [[nodiscard]] Result<void> add_split(Split /*split*/) override { return {}; }
  [[nodiscard]] Result<Poll> poll(Outputs& out) override {
    auto& elements = (*script_)[subtask_];
    if (elements.empty()) return Poll{PollResult::need_split};
    Element element = std::move(elements.front());
    elements.pop_front();
    if (std::holds_alternative<EndOfInput>(element)) return Poll{PollResult::finished};
    if (auto* batch = std::get_if<BatchPtr>(&element)) out.port<int>().forward(std::move(*batch));
    if (const auto* watermark = std::get_if<Watermark>(&element))
      out.emit_watermark(watermark->time);
    return Poll{PollResult::more};
  }
  [[nodiscard]] std::vector<Split> snapshot_splits() const override { return {}; }

 private:
  std::shared_ptr<Script> script_;
  std::size_t subtask_ = 0;
};

// Has a split for a subtask whenever there is something for it to read.
class ScriptEnumerator final : public SplitEnumerator {
 public:
  explicit ScriptEnumerator(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  [[nodiscard]] Result<void> open(std::uint32_t /*reader_count*/) override { return {}; }
  [[nodiscard]] Result<Assignment> next(SubtaskIndex reader) override {
    if ((*script_)[reader.value].empty()) return Assignment(NoSplitYet{.ask_after = {}});
    return Assignment(Split{.id = "what is there", .bytes = {}});
  }
  void add_back(std::vector<Split> /*splits*/) override {}
  void snapshot(ByteWriter& /*writer*/) const override {}
  [[nodiscard]] Result<void> restore(ByteReader& /*reader*/) override { return {}; }

 private:
  std::shared_ptr<Script> script_;
};

// job.source("numbers", ScriptedSource(script)).parallelism(script->size()): a stream of int.
class ScriptedSource {
 public:
  using value_type = int;

  explicit ScriptedSource(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  [[nodiscard]] std::string describe() const { return "script"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return std::make_unique<ScriptEnumerator>(script_);
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<ScriptedReader>(script_);
  }

 private:
  std::shared_ptr<Script> script_;
};

}  // namespace weir
