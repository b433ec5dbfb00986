// Windows that overlap, windows of activity, and one key that is most of the input.
#include <chrono>
#include <memory>
#include <utility>

#include "bench/benchmarks.h"
#include "bench/hash_sink.h"
#include "bench/limits/keyed_count.h"
#include "bench/limits/sessions.h"
#include "bench/timed_run.h"
#include "dataflow/api/weir.h"
#include "dataflow/connectors/index_reader.h"
#include "dataflow/connectors/listed_splits.h"
#include "dataflow/window/session.h"
#include "dataflow/window/sliding.h"

namespace weir::bench {
namespace {

using namespace std::chrono_literals;
using CountRow = Windowed<std::uint64_t, std::int64_t>;

std::uint64_t hash_of_row(const CountRow& row) {
  return row_hash(row.key, row.value, row.window_end.ms);
}

EventTime time_of(const Record& record) {
  return {record.time_ms};
}

double millions_per_second(std::size_t records, double seconds) {
  return static_cast<double>(records) / seconds / 1e6;
}

// --- sliding against tumbling ---

// A second of event time has a million records: each slide of half a second, which puts out a row for each of the 100 K keys, then
// has five records for each. That is the least that makes sense, and the hardest for sliding windows: with fewer records the rows
// outnumber them, and what is measured is writing rows.
constexpr double sliding_records_per_ms = 1000;
constexpr std::size_t sliding_keys = 100'000;
constexpr std::size_t sliding_rows = 10'000'000;  // 10 s of event time, in memory
constexpr std::size_t sliding_rounds = 18;        // so often, each time 10 s later
constexpr auto sliding_size = 60s;

// The same records again and again, each time that much later: more event time than fits into memory.
class ReplayReader final : public IndexReader {
 public:
  ReplayReader(std::shared_ptr<const std::vector<Record>> rows, std::int64_t round_ms)
      : rows_(std::move(rows)), round_ms_(round_ms) {}

 protected:
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    const std::size_t round = split.next / rows_->size();
    const std::size_t first = split.next % rows_->size();
    const std::size_t count =
        std::min({split.end - split.next, rows_->size() - first, Output<Record>::rows_max});
    const std::int64_t later = static_cast<std::int64_t>(round) * round_ms_;
    auto& values = out.port<Record>().batch().values;
    for (std::size_t i = first; i < first + count; ++i) {
      const Record& row = (*rows_)[i];
      values.push_back({row.key, row.time_ms + later, row.value});
    }
    advance(split, count);
    return Poll{PollResult::more};
  }

 private:
  std::shared_ptr<const std::vector<Record>> rows_;  // shared with the description
  std::int64_t round_ms_;
};

struct Replay {
  using value_type = Record;
  std::shared_ptr<const std::vector<Record>> rows;
  std::size_t rounds;
  std::int64_t round_ms;

  [[nodiscard]] std::string describe() const { return "replay"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list(
        [count = rows->size() * rounds](std::uint32_t readers) -> Result<SplitList> {
          return contiguous_index_splits(count, readers);
        });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<ReplayReader>(rows, round_ms);
  }
};

template <class Windows>
Sample count_in(const Replay& replay, const Windows& windows) {
  Job job("sliding_vs_tumbling");
  // The rows of those windows that both kinds have.
  const HashSink sink{[](const CountRow& row) {
    return row.window_end.ms % Duration{sliding_size}.count() == 0 ? hash_of_row(row) : 0;
  }};
  job.source("records", replay)
      .event_time(time_of, monotonous())
      .reinterpret_as_keyed(&Record::key)
      .window(windows)
      .count("count")
      .to("hash", sink);
  const double seconds = seconds_of(job, 1);
  return {millions_per_second(replay.rows->size() * replay.rounds, seconds), sink.sum->load()};
}

// --- sessions ---

constexpr std::size_t session_records = 10'000'000;
constexpr std::size_t session_keys = 1'000'000;
constexpr double session_records_per_ms =
    100;  // a record of each key every 10 s: a third of the gaps end a session
constexpr std::int64_t session_disorder_ms = 2000;
constexpr auto session_gap = 10s;

Sample count_sessions(const Collection<Record>& records) {
  Job job("session_windows");
  const HashSink sink{hash_of_row};
  job.source("records", records)
      .event_time(time_of, bounded(Duration{session_disorder_ms}))
      .reinterpret_as_keyed(&Record::key)
      .window(Session::with_gap(session_gap))
      .count("count")
      .to("hash", sink);
  const double seconds = seconds_of(job, 1);
  return {millions_per_second(session_records, seconds), sink.sum->load()};
}

// --- skew ---

constexpr std::size_t skew_records = 10'000'000;
constexpr std::size_t skew_keys = 100'000;

// The two sides have different results: the hash is how far each is from that of the loop by hand.
Sample count_exchanged(const Collection<Record>& records, std::uint64_t expected) {
  Job job("skew");
  const HashSink sink{hash_of_row};
  job.source("records", records)
      .event_time(time_of, monotonous())
      .key_by(&Record::key)
      .window(Tumbling::of(Duration{window_ms}))
      .count("count")
      .to("hash", sink);
  const double seconds = seconds_of(job, 2);
  return {millions_per_second(skew_records, seconds), sink.sum->load() - expected};
}

struct SkewSide {
  explicit SkewSide(const std::vector<Record>& rows)
      : records(collection(rows)), expected(count_by_hand(merged_halves(rows), skew_keys)) {}
  [[nodiscard]] Sample run() const { return count_exchanged(records, expected); }

  Collection<Record> records;
  std::uint64_t expected;
};

}  // namespace

PairedBenchmark sliding_vs_tumbling() {
  const Replay replay{std::make_shared<const std::vector<Record>>(
                          make_records(sliding_rows, sliding_keys, sliding_records_per_ms)),
                      sliding_rounds,
                      static_cast<std::int64_t>(sliding_rows / sliding_records_per_ms)};
  return {.name = "sliding_vs_tumbling",
          .unit = "M records/s",
          .what =
              "60 s windows every 0.5 s, 1 M records per second of event time, against 60 s "
              "tumbling windows",
          .engine = [replay] { return count_in(replay, Sliding::of(sliding_size, 500ms)); },
          .limit = [replay] { return count_in(replay, Tumbling::of(sliding_size)); }};
}

PairedBenchmark session_windows() {
  const auto records = std::make_shared<std::vector<Record>>(make_disordered_records(
      session_records, session_keys, session_records_per_ms, session_disorder_ms));
  return {.name = "session_windows",
          .unit = "M records/s",
          .what = "sessions of 1 M keys, 10 s gap, 2 s out of order, against sorting and one pass",
          .engine = [source = collection(*records)] { return count_sessions(source); },
          .limit =
              [records] {
                const double begin = seconds_now();
                const std::uint64_t hash =
                    sessions_by_hand(*records, Duration{session_gap}.count());
                return Sample{millions_per_second(session_records, seconds_now() - begin), hash};
              }};
}

PairedBenchmark skew() {
  auto rows = make_parallel_records(skew_records, skew_keys, 100);
  const auto uniform = std::make_shared<const SkewSide>(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 5 != 0) rows[i].key = rows[0].key;
  }
  const auto skewed = std::make_shared<const SkewSide>(rows);
  return {.name = "skew",
          .unit = "M records/s",
          .what =
              "a 10 s tumbling count through an exchange, 2 tasks, 80 % of the records on one "
              "key, against uniform keys",
          .engine = [skewed] { return skewed->run(); },
          .limit = [uniform] { return uniform->run(); }};
}

}  // namespace weir::bench
