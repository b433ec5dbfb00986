// How long a record takes from source to sink when there is next to nothing to do: 1,000 records a
// second through source → keyed task → sink, three tasks.
#include <memory>

#include "actors/run.h"
#include "base/check.h"
#include "bench/benchmarks.h"
#include "bench/limits/actor_chain.h"
#include "dataflow/api/weir.h"

namespace weir::bench {
namespace {

constexpr std::size_t record_count = 2000;
constexpr double records_per_second = 1000;

struct Stamped {
  std::uint64_t key = 0;
  double sent_at = 0;
};

class LatencyWriter final : public SinkOperator {
 public:
  explicit LatencyWriter(std::shared_ptr<std::vector<double>> us) : us_(std::move(us)) {}

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs&) override {
    const double now = seconds_now();
    const auto& values = batch_cast<Stamped>(*in).values;
    for (std::size_t i = rows.begin; i < rows.end; ++i)
      us_->push_back((now - values[i].sent_at) * 1e6);
    return Progress{StepResult::done, rows.end};
  }

 private:
  std::shared_ptr<std::vector<double>> us_;  // read when the job has ended
};

struct LatencySink {
  std::shared_ptr<std::vector<double>> us = std::make_shared<std::vector<double>>();

  [[nodiscard]] std::string describe() const { return "latency"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<LatencyWriter>(us);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};

std::vector<double> engine_latencies() {
  Job job("idle_latency");
  LatencySink sink;
  job.source("stamps", generator(
                           [](std::uint64_t i) {
                             return Stamped{i % 16, seconds_now()};
                           },
                           {.count = record_count, .records_per_second = records_per_second}))
      .key_by(&Stamped::key)
      .reduce("last", [](const Stamped&, const Stamped& b) { return b; })
      .rebalance()
      .to("latency", sink)
      .no_chain();
  const auto result = run(job, {.parallelism = 1});
  WEIR_CHECK(result.has_value());
  WEIR_CHECK(sink.us->size() == record_count);
  return *sink.us;
}

}  // namespace

PairedBenchmark idle_latency(double q, const std::string& name) {
  return {
      .name = name,
      .unit = "us",
      .what = "source to sink at 1,000 records/s, against three bare actors",
      .engine = [q] { return Sample{quantile(engine_latencies(), q)}; },
      .limit =
          [q] {
            const std::chrono::microseconds interval{static_cast<int>(1e6 / records_per_second)};
            return Sample{quantile(actor_chain_latencies(record_count, interval), q)};
          }};
}

}  // namespace weir::bench
