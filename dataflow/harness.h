// Tests process functions and pieces of jobs without an engine around them: no threads, no clock,
// no network.
//
//   StreamHarness<Reading, Alert> harness([](Stream<Reading> readings) {
//     return readings.key_by(&Reading::sensor).process("alerts", Alerts{.limit = 30});
//   });
//   harness.push({"attic", 35}, EventTime{1000});
//   harness.push({"cellar", 12}, EventTime{1200});
//   EXPECT_EQ(harness.take_values(), (std::vector<Alert>{{"attic", "hot"}}));
//   harness.watermark(EventTime{61'000});               // fires the timers of event time
//   EXPECT_EQ(harness.take_values(), (std::vector<Alert>{{"attic", "a minute"}}));
//   harness.advance_processing_time(10min);             // and those of processing time
//   EXPECT_EQ(harness.take_values().size(), 2U);        // both sensors are silent
//   harness.end_input();
//   EXPECT_TRUE(harness.status());                      // else what a function threw
//
// The piece is described with the API that jobs use, and runs as it would in one: planned, chained,
// in tasks that are joined by channels with credit. Its steps have parallelism 1 unless they say
// otherwise; then outputs of different subtasks mix in some order.
//
// A snapshot can be taken at any time, and another harness of the same piece can begin with it:
//
//   StreamHarness<Reading, Alert> restored(describe, {.restored = harness.snapshot()});
//
// It has the state of all steps, in whatever parallelism they have now. Keyed steps know how far the watermark had come: what
// was late is late, and watermarks that are not beyond it say nothing.
//
// Every call runs the piece until it has nothing left to do, so what came of it can be taken at
// once. The first failure (of the plan, or of a function) ends the run: status() has it, and calls
// after it do nothing. Not thread-safe.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataflow/api/job.h"
#include "dataflow/harness_run.h"
#include "dataflow/runtime/element.h"

namespace weir {

// A record that went in or came out, with its event time.
template <class T>
struct Record {
  T value{};
  EventTime time = no_timestamp;
  friend bool operator==(const Record&, const Record&) = default;
};

// What comes out, in order.
template <class T>
using Emitted = std::variant<Record<T>, Watermark, WatermarkStatus>;

// One input of a piece of a job. Refers to its harness.
template <class T>
class HarnessInput {
 public:
  HarnessInput(HarnessRun& run, HarnessRun::InputIndex index) : run_(&run), index_(index) {}

  // A record without event time, respectively with it.
  void push(T value) { push(std::move(value), no_timestamp); }
  void push(T value, EventTime time) { push_batch({Record<T>{std::move(value), time}}); }
  // Records that arrive together, as they mostly do in a job.
  void push_batch(std::vector<Record<T>> records) {
    auto batch = std::make_shared<Batch<T>>();
    for (Record<T>& record : records) {
      if (record.time != no_timestamp) batch->times.resize(records.size(), no_timestamp);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      batch->values.push_back(std::move(records[i].value));
      if (!batch->times.empty()) batch->times[i] = records[i].time;
    }
    if (batch->size() > 0) run_->feed(index_, BatchPtr(std::move(batch)));
  }

  void watermark(EventTime time) { run_->feed(index_, Watermark{time}); }
  // The input sends nothing for now and holds nobody's watermark back; or it is active again.
  void idle(bool idle) { run_->feed(index_, WatermarkStatus{idle}); }
  // Nothing follows. Ends the input with the watermark EventTime::max().
  void end() { run_->feed(index_, EndOfInput{}); }

 private:
  HarnessRun* run_;
  HarnessRun::InputIndex index_;
};

// What all harnesses offer: the time, what comes out, and how it went.
template <class Out>
class HarnessOutput {
 public:
  // Processing time begins at 0 unless the options say otherwise. On its way to the new time it stops wherever a timer is set, as
  // the machine's would.
  void advance_processing_time(Duration by) { run_.advance_to(run_.processing_time() + by); }
  // Requires that time does not go back.
  void set_processing_time(ProcessingTime time) { run_.advance_to(time); }

  // Everything that has come out of the main output since the last call.
  [[nodiscard]] std::vector<Emitted<Out>> take_outputs() { return decoded<Out>(run_.take({})); }
  // The records' values alone.
  [[nodiscard]] std::vector<Out> take_values() { return values<Out>(run_.take({})); }
  // The values of a side output of the step that the piece ends in, by its member:
  // take_side(&Alerts::refused).
  template <class F, class T>
  [[nodiscard]] std::vector<T> take_side(SideOutput<T> F::*member) {
    return values<T>(run_.take(side_output_port(member)));
  }

  // The late records of the windowed step that the piece ends in. Requires that the piece has asked for its late().
  template <class T>
  [[nodiscard]] std::vector<T> take_late() {
    return values<T>(run_.take(run_.last_port()));
  }

  // The state of all steps as it is now, for HarnessOptions::restored.
  [[nodiscard]] JobSnapshot snapshot() const { return run_.snapshot(); }

  // How the run is going: the error once something has failed.
  [[nodiscard]] const Result<void>& status() const { return run_.status(); }
  // Whether every step has finished, as they do when the inputs have ended.
  [[nodiscard]] bool finished() const { return run_.finished(); }
  // Of all steps together.
  [[nodiscard]] std::uint64_t late_records_dropped() const { return run_.late_records_dropped(); }
  [[nodiscard]] std::uint64_t bad_records() const { return run_.bad_records(); }
  [[nodiscard]] std::uint64_t records_ahead() const { return run_.records_ahead(); }
  // What functions have counted under this name, 0 if none has.
  [[nodiscard]] std::int64_t counter(const std::string& name) const { return run_.counter(name); }

 protected:
  explicit HarnessOutput(HarnessOptions options) : run_(std::move(options)) {}

  HarnessRun run_;

 private:
  template <class T>
  [[nodiscard]] static std::vector<Emitted<T>> decoded(const std::vector<Element>& elements) {
    std::vector<Emitted<T>> result;
    for (const Element& element : elements) {
      if (const auto* watermark = std::get_if<Watermark>(&element)) result.push_back(*watermark);
      if (const auto* status = std::get_if<WatermarkStatus>(&element)) result.push_back(*status);
      if (const auto* any = std::get_if<BatchPtr>(&element)) {
        const auto& batch = batch_cast<T>(**any);
        for (std::size_t i = 0; i < batch.size(); ++i) {
          result.push_back(
              Record<T>{batch.values[i], batch.times.empty() ? no_timestamp : batch.times[i]});
        }
      }
    }
    return result;
  }

  template <class T>
  [[nodiscard]] static std::vector<T> values(const std::vector<Element>& elements) {
    std::vector<T> result;
    for (const Element& element : elements) {
      if (const auto* any = std::get_if<BatchPtr>(&element)) {
        const auto& batch = batch_cast<T>(**any);
        result.insert(result.end(), batch.values.begin(), batch.values.end());
      }
    }
    return result;
  }
};

// A piece with one input: describe(Stream<In>) → Stream<Out>.
template <class In, class Out>
class StreamHarness : public HarnessOutput<Out> {
 public:
  template <class Describe>
  explicit StreamHarness(Describe describe, HarnessOptions options = {})
      : HarnessOutput<Out>(std::move(options)) {
    static_assert(std::invocable<Describe&, Stream<In>>,
                  "weir: the harness needs a function (Stream<In>) → Stream<Out>");
    static_assert(std::derived_from<std::invoke_result_t<Describe&, Stream<In>>, Stream<Out>>,
                  "weir: the harness's Out must be what the described stream carries");
    auto& run = this->run_;
    const Stream<Out> result =
        std::invoke(describe, Stream<In>(run.builder(), {run.template add_input<In>()}));
    run.start(result.origins());
  }

  void push(In value) { input_.push(std::move(value)); }
  void push(In value, EventTime time) { input_.push(std::move(value), time); }
  void push_batch(std::vector<Record<In>> records) { input_.push_batch(std::move(records)); }
  void watermark(EventTime time) { input_.watermark(time); }
  void idle(bool idle) { input_.idle(idle); }
  void end_input() { input_.end(); }

 private:
  HarnessInput<In> input_{this->run_, {0}};
};

// A piece with two inputs: describe(Stream<A>, Stream<B>) → Stream<Out>.
template <class A, class B, class Out>
class TwoInputHarness : public HarnessOutput<Out> {
 public:
  template <class Describe>
  explicit TwoInputHarness(Describe describe, HarnessOptions options = {})
      : HarnessOutput<Out>(std::move(options)) {
    static_assert(std::invocable<Describe&, Stream<A>, Stream<B>>,
                  "weir: the harness needs a function (Stream<A>, Stream<B>) → Stream<Out>");
    static_assert(
        std::derived_from<std::invoke_result_t<Describe&, Stream<A>, Stream<B>>, Stream<Out>>,
        "weir: the harness's Out must be what the described stream carries");
    auto& run = this->run_;
    const Stream<A> first(run.builder(), {run.template add_input<A>()});
    const Stream<B> second(run.builder(), {run.template add_input<B>()});
    const Stream<Out> result = std::invoke(describe, first, second);
    run.start(result.origins());
  }

  [[nodiscard]] HarnessInput<A>& first() { return first_; }
  [[nodiscard]] HarnessInput<B>& second() { return second_; }
  // On both inputs.
  void watermark(EventTime time) {
    first_.watermark(time);
    second_.watermark(time);
  }
  void end_input() {
    first_.end();
    second_.end();
  }

 private:
  HarnessInput<A> first_{this->run_, {0}};
  HarnessInput<B> second_{this->run_, {1}};
};

}  // namespace weir
