// A source whose records a function makes from their index, for load and tests.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/connectors/index_reader.h"
#include "dataflow/connectors/pacing.h"

namespace weir {

struct GeneratorOptions {
  // Records in all; without it the source does not end.
  std::optional<std::uint64_t> count = {};
  // Of all readers together; without it as fast as can be.
  std::optional<double> records_per_second = {};
};

// Every reader calls a copy of the function of its own, never concurrently.
template <class F>
concept GeneratorFunction = std::copy_constructible<F> && std::invocable<F&, std::uint64_t>;

template <GeneratorFunction F>
class GeneratorReader final : public IndexReader {
 public:
  using Record = std::remove_cvref_t<std::invoke_result_t<F&, std::uint64_t>>;

  GeneratorReader(F make, std::optional<double> records_per_second)
      : make_(std::move(make)), records_per_second_(records_per_second) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    clock_ = context.clock;
    return {};
  }

 protected:
  void begin(const IndexSplit& split) override {
    if (records_per_second_) pacing_ = Pacing(*records_per_second_, clock_->now(), split);
  }

  // What is due leaves at once, however little it is.
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    const std::uint64_t due = pacing_.due(split, clock_->now(), remaining(split));
    generate(split, due, out);
    if (remaining(split) == 0) return Poll{PollResult::more};
    const Duration wait = pacing_.until_due(split, clock_->now());
    if (wait == Duration{0}) return Poll{PollResult::more};
    return Poll{PollResult::idle, clock_->processing_time() + wait};
  }

 private:
  void generate(IndexSplit& split, std::uint64_t count, Outputs& out) {
    BudgetCheck budget(out.budget());
    Output<Record>& port = out.port<Record>();
    std::uint64_t made = 0;
    while (made < count && !port.full()) {
      port.push_made([&] { return make_(split.next + made * split.stride); });
      ++made;
      if (budget.spent()) break;
    }
    advance(split, made);
  }

  F make_;
  std::optional<double> records_per_second_;
  const Clock* clock_ = nullptr;
  Pacing pacing_;
};

// Why the options cannot be; see generator().
[[nodiscard]] Result<void> check_options(const GeneratorOptions& options);
[[nodiscard]] std::string describe_options(const GeneratorOptions& options);

template <GeneratorFunction F>
class Generator {
 public:
  using value_type = typename GeneratorReader<F>::Record;

  Generator(F make, GeneratorOptions options) : make_(std::move(make)), options_(options) {}

  [[nodiscard]] std::string describe() const { return "generator" + describe_options(options_); }
  [[nodiscard]] Result<void> check() const { return check_options(options_); }
  [[nodiscard]] bool bounded() const { return options_.count.has_value(); }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list([options = options_](std::uint32_t reader_count) -> Result<SplitList> {
      WEIR_TRY(check_options(options));
      return strided_index_splits(options.count.value_or(endless), reader_count);
    });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<GeneratorReader<F>>(make_, options_.records_per_second);
  }

 private:
  F make_;
  GeneratorOptions options_;
};

// make(0), make(1), …: each index is made once, by one of the readers, which take turns at the
// indices. With a rate, make(i) is called i / rate after the start, within a millisecond or two.
template <GeneratorFunction F>
[[nodiscard]] Generator<F> generator(F make, GeneratorOptions options = {}) {
  check_not_opened<F>();
  return {std::move(make), options};
}

}  // namespace weir
