// A slow sink holds back everything before it: memory stays bounded, and a cancel is quick all the
// same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "actors/run.h"
#include "apps/words.h"
#include "dataflow/api/weir.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr long growth_kb_max = shadow_factor * 20 * 1024;

// Takes 1,000 records a second, and tells how many it has taken.
struct SlowSink {
  std::shared_ptr<std::atomic<std::int64_t>> taken = std::make_shared<std::atomic<std::int64_t>>(0);

  template <class T>
  class Writer final : public SinkOperator {
   public:
    explicit Writer(std::shared_ptr<std::atomic<std::int64_t>> taken) : taken_(std::move(taken)) {}
    [[nodiscard]] Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        std::this_thread::sleep_for(1ms);
        taken_->fetch_add(1);
      }
      return Progress{StepResult::done, rows.end};
    }

   private:
    std::shared_ptr<std::atomic<std::int64_t>> taken_;
  };

  [[nodiscard]] std::string describe() const { return "slow"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<Writer<T>>(taken);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};

// Runs the job, waits until the sink has taken its first records, watches memory for `watched`,
// then cancels.
struct Observation {
  long before_kb = 0;   // when the first record had reached the sink
  long largest_kb = 0;  // after that
  std::chrono::nanoseconds cancel_took{0};
  Errc ended_with = Errc::system;
};

Observation watch_and_cancel(Job& job, const SlowSink& sink, std::chrono::seconds watched) {
  Observation seen;
  std::chrono::steady_clock::time_point first_record;
  std::chrono::steady_clock::time_point cancelled_at;
  const auto result = run(job, {.on_progress = [&](const JobProgress&) {
                            const auto now = std::chrono::steady_clock::now();
                            const long kb = resident_kb(getpid());
                            if (sink.taken->load() == 0) return true;
                            if (seen.before_kb == 0) {
                              seen.before_kb = kb;
                              first_record = now;
                            }
                            seen.largest_kb = std::max(seen.largest_kb, kb);
                            if (now - first_record < watched) return true;
                            if (cancelled_at == std::chrono::steady_clock::time_point{})
                              cancelled_at = now;
                            return false;
                          }});
  seen.cancel_took = std::chrono::steady_clock::now() - cancelled_at;
  if (!result) seen.ended_with = result.error().code;
  return seen;
}

TEST(FlowControl, a_line_of_a_million_words_into_a_slow_sink_stays_within_20_MB) {
  const TemporaryDirectory directory;
  {
    std::ofstream file(directory.file("line.txt"));
    for (int i = 0; i < 1'000'000; ++i) file << "word" << static_cast<char>('a' + i % 26) << ' ';
  }
  const long at_start_kb = resident_kb(getpid());
  SlowSink sink;
  Job job("one_line");
  job.source("lines", text_files(directory.file("line.txt")))
      .flat_map(words)
      .to("slow", sink)
      .blocking();
  const Observation seen = watch_and_cancel(job, sink, 3s);
  EXPECT_LT(seen.largest_kb - at_start_kb, growth_kb_max);
  EXPECT_LT(seen.cancel_took, patience_factor * 1s);
  EXPECT_EQ(seen.ended_with, Errc::cancelled);
  EXPECT_GT(sink.taken->load(), 1000);
}

TEST(FlowControl, a_window_of_five_million_keys_firing_into_a_slow_sink_stays_within_20_MB) {
  SlowSink sink;
  Job job("big_window");
  job.source("keys", from_sequence(0, 4'999'999))
      .event_time([](std::int64_t) { return EventTime{0}; }, monotonous())
      .key_by([](std::int64_t key) { return key; })
      .window(Tumbling::of(1h))
      .count("count")
      .to("slow", sink)
      .blocking();
  const Observation seen = watch_and_cancel(job, sink, 3s);
  EXPECT_LT(seen.largest_kb - seen.before_kb, growth_kb_max);
  EXPECT_LT(seen.cancel_took, patience_factor * 1s);
  EXPECT_EQ(seen.ended_with, Errc::cancelled);
  EXPECT_GT(sink.taken->load(), 1000);
  RecordProperty("state_kb", static_cast<int>(seen.before_kb));
}

// The same with a sink that is not marked as blocking: its task sleeps on a thread of the
// scheduler.
TEST(FlowControl, a_cancel_reaches_a_slow_sink_that_holds_a_scheduler_thread) {
  SlowSink sink;
  Job job("held_thread");
  job.source("numbers", from_sequence(0, 999'999)).rebalance().to("slow", sink);
  const Observation seen = watch_and_cancel(job, sink, 1s);
  EXPECT_LT(seen.cancel_took, patience_factor * 1s);
  EXPECT_EQ(seen.ended_with, Errc::cancelled);
}

}  // namespace
}  // namespace weir
