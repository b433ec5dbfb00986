// Two streams whose records meet when they are near in time.
#include <chrono>
#include <memory>
#include <utility>

#include "bench/benchmarks.h"
#include "bench/hash_sink.h"
#include "bench/limits/interval_join.h"
#include "bench/limits/keyed_count.h"
#include "bench/timed_run.h"
#include "dataflow/api/weir.h"

namespace weir::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t side_records = 5'000'000;
constexpr std::size_t key_count = 1'000'000;
constexpr double records_per_ms = 100;  // of each side: each record meets one partner on average
constexpr std::int64_t within_ms = 5000;

struct Pair {
  std::uint64_t key = 0;
  std::int64_t left_ms = 0;
  std::int64_t right_ms = 0;
};

struct Sides {
  std::vector<Record> left;
  std::vector<Record> right;
};

Sides make_sides() {
  auto all = make_records(2 * side_records, key_count, 2 * records_per_ms);
  Sides sides;
  for (std::size_t i = 0; i < all.size(); ++i)
    (i % 2 == 0 ? sides.left : sides.right).push_back(all[i]);
  return sides;
}

Sample run_engine(const Collection<Record>& left, const Collection<Record>& right) {
  Job job("interval_join");
  const HashSink sink{
      [](const Pair& pair) { return pair_hash(pair.key, pair.left_ms, pair.right_ms); }};
  const auto timed = [&](const char* name, const Collection<Record>& records) {
    return job.source(name, records)
        .event_time([](const Record& r) { return EventTime{r.time_ms}; }, monotonous())
        .key_by(&Record::key);
  };
  timed("left", left)
      .interval_join(timed("right", right))
      .between(Duration{-within_ms}, Duration{within_ms})
      .process("join",
               [](const Record& l, const Record& r) {
                 return Pair{l.key, l.time_ms, r.time_ms};
               })
      .to("hash", sink);
  const double seconds = seconds_of(job, 1);
  return {2 * side_records / seconds / 1e6, sink.sum->load()};
}

}  // namespace

PairedBenchmark interval_join() {
  const auto sides = std::make_shared<const Sides>(make_sides());
  return {.name = "interval_join",
          .unit = "M records/s",
          .what = "two streams of 1 M keys, at most 5 s apart, against a hand-written hash join",
          .engine = [left = collection(sides->left),
                     right = collection(sides->right)] { return run_engine(left, right); },
          .limit =
              [sides] {
                const double begin = seconds_now();
                const std::uint64_t hash =
                    interval_join_by_hand(sides->left, sides->right, within_ms, key_count);
                return Sample{2 * side_records / (seconds_now() - begin) / 1e6, hash};
              }};
}

}  // namespace weir::bench
