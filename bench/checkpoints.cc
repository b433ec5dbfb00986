// What state costs: memory per key, and what goes on while it is snapshotted.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/run.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"
#include "bench/benchmarks.h"
#include "dataflow/api/weir.h"
#include "state/state_backend.h"

namespace weir::bench {
namespace {

constexpr std::int64_t key_count = 10'000'000;
constexpr std::uint32_t key_groups = 128;
constexpr std::size_t batch_rows = 64;

// int64 counts of ten million int64 keys, in the tables of one task.
class CountedKeys {
 public:
  CountedKeys() {
    auto table = backend_.keyed<std::int64_t, std::int64_t>("counts", StateKind::value);
    WEIR_CHECK(table.has_value());
    table_ = *std::move(table);
    for (std::int64_t key = 0; key < key_count; ++key)
      table_->find_or_insert(hash_of(key), key) = key;
  }

  [[nodiscard]] StateBackend& backend() { return backend_; }
  [[nodiscard]] double bytes_per_key() const {
    return static_cast<double>(table_->bytes()) / static_cast<double>(key_count);
  }

  // Counts a small batch of random keys; how long that took, in microseconds.
  [[nodiscard]] double count_batch() {
    std::int64_t keys[batch_rows];
    KeyHash hashes[batch_rows];
    for (std::size_t i = 0; i < batch_rows; ++i) {
      keys[i] = static_cast<std::int64_t>(random_.below(key_count));
      hashes[i] = hash_of(keys[i]);
    }
    const double begin = seconds_now();
    table_->update_rows(
        hashes, 0, batch_rows, [&](std::size_t row) { return keys[row]; },
        [](std::size_t, std::int64_t& count) { ++count; });
    return (seconds_now() - begin) * 1e6;
  }

  // All of it, as the thread that writes snapshots does; returns the bytes.
  static std::uint64_t write(FrozenState frozen) {
    std::uint64_t bytes = 0;
    Bytes buffer;
    for (std::uint32_t group = 0; group < key_groups; ++group) {
      buffer.clear();
      ByteWriter writer(buffer);
      for (const auto& state : frozen.keyed) state->write_group({group}, writer);
      bytes += buffer.size();
    }
    return bytes;
  }

 private:
  StateBackend backend_{KeyGroupSlice{{{0}, key_groups}, key_groups}};
  std::shared_ptr<KeyedTable<std::int64_t, std::int64_t>> table_;
  Random random_{1};
};

// Batches until the snapshot is written by a thread beside; and the first of them with the freeze in front of it.
struct SnapshotRun {
  double pause_ms;
  std::vector<double> batch_us;
};
SnapshotRun run_with_snapshot(CountedKeys& keys) {
  SnapshotRun run;
  const double begin = seconds_now();
  FrozenState frozen = keys.backend().freeze();
  run.batch_us.push_back(keys.count_batch());
  run.pause_ms = (seconds_now() - begin) * 1e3;
  std::atomic<bool> written{false};
  std::thread writer([&] {
    keep(CountedKeys::write(std::move(frozen)));
    written = true;
  });
  while (!written) run.batch_us.push_back(keys.count_batch());
  writer.join();
  return run;
}

double steady_p99(CountedKeys& keys) {
  std::vector<double> batches;
  for (int i = 0; i < 100'000; ++i) batches.push_back(keys.count_batch());
  return quantile(std::move(batches), 0.99);
}

// Where checkpoints of a run are written; removed with it.
class CheckpointDirectory {
 public:
  CheckpointDirectory() = default;
  CheckpointDirectory(const CheckpointDirectory&) = delete;
  CheckpointDirectory& operator=(const CheckpointDirectory&) = delete;
  ~CheckpointDirectory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("weir-bench-" + std::to_string(getpid()));
};

// A record's key and when it was made.
struct Stamped {
  std::uint64_t key = 0;
  double made_at = 0;
};

// Notes how old records are.
class AgeWriter final : public SinkOperator {
 public:
  explicit AgeWriter(std::shared_ptr<std::vector<double>> us) : us_(std::move(us)) {}

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs&) override {
    const double now = seconds_now();
    const auto& values = batch_cast<Stamped>(*in).values;
    for (std::size_t i = rows.begin; i < rows.end; ++i)
      us_->push_back((now - values[i].made_at) * 1e6);
    return Progress{StepResult::done, rows.end};
  }

 private:
  std::shared_ptr<std::vector<double>> us_;  // read when the job has ended
};

struct AgeSink {
  std::shared_ptr<std::vector<double>> us = std::make_shared<std::vector<double>>();

  [[nodiscard]] std::string describe() const { return "ages"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<AgeWriter>(us);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};

// p99 of the time that records of a million keys take from source to sink, once most keys are there.
// With checkpoints the next one begins when the one before is complete.
double records_p99(bool with_checkpoints) {
  constexpr std::uint64_t records = 2'000'000;
  Job job("snapshot_latency");
  AgeSink sink;
  job.source("stamps", generator(
                           [](std::uint64_t i) {
                             return Stamped{mix64(i) % 1'000'000, seconds_now()};
                           },
                           {.count = records, .records_per_second = 500'000}))
      .key_by(&Stamped::key)
      .reduce("last", [](const Stamped&, const Stamped& b) { return b; })
      .rebalance()
      .to("ages", sink)
      .no_chain();
  JobSettings settings;
  const CheckpointDirectory directory;
  if (with_checkpoints) {
    settings.checkpoints.interval = Duration{10};
    settings.checkpoints.directory = directory.path();
  }
  const auto result = run(job, {.parallelism = 1, .max_parallelism = 128, .settings = settings});
  WEIR_CHECK(result.has_value());
  WEIR_CHECK(sink.us->size() == records);
  return quantile({sink.us->begin() + records / 2, sink.us->end()}, 0.99);
}

// A keyed count of 100 K keys that takes several seconds.
Sample run_counts(bool with_checkpoints) {
  constexpr std::uint64_t records = 150'000'000;
  Job job("checkpoint_overhead");
  job.source("numbers", generator([](std::uint64_t i) { return i * 0x9e3779b97f4a7c15U % 100'000; },
                                  {.count = records}))
      .key_by(std::identity{})
      .count("count")
      .at_end()
      .to("nowhere", discard());
  JobSettings settings;
  const CheckpointDirectory directory;
  if (with_checkpoints) {
    settings.checkpoints.interval = Duration{1000};
    settings.checkpoints.directory = directory.path();
  }
  const double begin = seconds_now();
  const auto result = run(job, {.parallelism = 1, .max_parallelism = 128, .settings = settings});
  const double seconds = seconds_now() - begin;
  WEIR_CHECK(result.has_value());
  return {static_cast<double>(records) / seconds / 1e6, 0};
}

}  // namespace

PairedBenchmark memory_per_key() {
  return {.name = "memory_per_key",
          .unit = "bytes",
          .what = "tables of 10 M int64 counts by int64 keys, against the 48 bytes a key may have",
          .engine = [] { return Sample{CountedKeys().bytes_per_key()}; },
          .limit = [] { return Sample{48}; }};
}

PairedBenchmark snapshot_pause_memory() {
  const auto keys = std::make_shared<CountedKeys>();
  return {.name = "snapshot_pause_memory",
          .unit = "ms",
          .what =
              "freezing 10 M keys and counting the first batch after it, against the 20 ms that "
              "may take",
          .engine = [keys] { return Sample{run_with_snapshot(*keys).pause_ms}; },
          .limit = [] { return Sample{20}; }};
}

PairedBenchmark snapshot_latency_memory() {
  const auto keys = std::make_shared<CountedKeys>();
  return {.name = "snapshot_latency_memory",
          .unit = "us",
          .what =
              "p99 of counting 64 records while 10 M keys are snapshotted, against that of steady "
              "running",
          .engine = [keys] { return Sample{quantile(run_with_snapshot(*keys).batch_us, 0.99)}; },
          .limit = [keys] { return Sample{steady_p99(*keys)}; }};
}

PairedBenchmark snapshot_latency_records() {
  return {.name = "snapshot_latency_records",
          .unit = "us",
          .what =
              "p99 from source to sink of 500 K records/s while their million keys are snapshotted "
              "without a pause, against that without snapshots",
          .engine = [] { return Sample{records_p99(true)}; },
          .limit = [] { return Sample{records_p99(false)}; }};
}

PairedBenchmark checkpoint_overhead() {
  return {.name = "checkpoint_overhead",
          .unit = "M records/s",
          .what = "a keyed count with a checkpoint each second, against the same without",
          .engine = [] { return run_counts(true); },
          .limit = [] { return run_counts(false); }};
}

}  // namespace weir::bench
