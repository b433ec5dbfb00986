// 24-byte records, 100 K integer keys, 10 s tumbling count: through a chain, and through a hash
// exchange.
#include "bench/limits/keyed_count.h"

#include <memory>

#include "bench/benchmarks.h"
#include "bench/hash_sink.h"
#include "bench/timed_run.h"
#include "dataflow/api/weir.h"

namespace weir::bench {
namespace {

constexpr std::size_t record_count = 20'000'000;
constexpr std::size_t key_count = 100'000;
constexpr double records_per_ms = 100;

using CountRow = Windowed<std::uint64_t, std::int64_t>;

Sample run_engine(const Collection<Record>& records, bool exchange) {
  Job job("keyed_count");
  const HashSink sink{
      [](const CountRow& row) { return row_hash(row.key, row.value, row.window_end.ms); }};
  const auto timed =
      job.source("records", records)
          .event_time([](const Record& r) { return EventTime{r.time_ms}; }, monotonous());
  const auto keyed =
      exchange ? timed.key_by(&Record::key) : timed.reinterpret_as_keyed(&Record::key);
  keyed.window(Tumbling::of(Duration{window_ms})).count("count").to("hash", sink);
  const double seconds = seconds_of(job, exchange ? 2 : 1);
  return {static_cast<double>(record_count) / seconds / 1e6, sink.sum->load()};
}

Sample run_limit(const std::vector<Record>& records) {
  const double begin = seconds_now();
  const std::uint64_t hash = count_by_hand(records, key_count);
  return {static_cast<double>(record_count) / (seconds_now() - begin) / 1e6, hash};
}

}  // namespace

PairedBenchmark keyed_count_chained() {
  const auto records =
      std::make_shared<std::vector<Record>>(make_records(record_count, key_count, records_per_ms));
  return {.name = "keyed_count_chained",
          .unit = "M records/s",
          .what = "10 s tumbling count per key in one chain, against a hand-written loop",
          .engine = [source = collection(*records)] { return run_engine(source, false); },
          .limit = [records] { return run_limit(*records); }};
}

PairedBenchmark keyed_count_exchange() {
  const auto records = make_parallel_records(record_count, key_count, records_per_ms);
  const auto merged = std::make_shared<std::vector<Record>>(merged_halves(records));
  return {
      .name = "keyed_count_exchange",
      .unit = "M records/s",
      .what =
          "the same with a hash exchange between 2 and 2 tasks, against the single-threaded loop",
      .engine = [source = collection(records)] { return run_engine(source, true); },
      .limit = [merged] { return run_limit(*merged); }};
}

PairedBenchmark limit_keyed_count() {
  // Reference: 11.8 ns a record at 14.2 GB/s of memory bandwidth (100 K keys, tumbling).
  constexpr double reference_ns = 11.8;
  constexpr double reference_bandwidth = 14.2e9;
  const auto records =
      std::make_shared<std::vector<Record>>(make_records(record_count, key_count, records_per_ms));
  return {.name = "limit_keyed_count",
          .unit = "M records/s",
          .what =
              "the hand-written loop, against its figure on the reference machine scaled by memory "
              "bandwidth",
          .engine =
              [records] {
                return Sample{run_limit(*records).value, 0};
              },
          .limit =
              [] {
                return Sample{1e3 / reference_ns * memory_bandwidth() / reference_bandwidth, 0};
              }};
}

}  // namespace weir::bench
