// Measures the engine against a hand-written limit: in turn, in one process, so that a noisy
// machine disturbs both.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::bench {

// One run's figure, and a hash of what it computed, which must be the same for engine and limit.
struct Sample {
  double value;
  std::uint64_t result_hash = 0;
};

// Which way the ratio counts: engine/limit in any case, so that throughput wants it large and
// latency small.
struct PairedBenchmark {
  std::string name;
  std::string unit;
  std::string what;  // one line for people
  std::function<Sample()> engine;
  std::function<Sample()> limit;
};

struct Row {
  std::string name;
  std::string unit;
  double value = 0;  // medians
  double limit = 0;
  double ratio = 0;    // median of the pairs' ratios
  double spread = 0;   // their interquartile range, as a share of the median
  bool valid = false;  // spread <= 10 % and equal results
  bool results_agree = true;
  int tries = 0;
};

// At least nine pairs after a warm-up; up to three tries until the spread is small enough.
[[nodiscard]] Row measure(const PairedBenchmark& benchmark, int pairs);

[[nodiscard]] double quantile(std::vector<double> values, double q);
[[nodiscard]] double seconds_now();
// Asks the optimiser to compute what it might prove unused.
void keep(std::uint64_t value);

}  // namespace weir::bench
