#include "bench/paired.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weir::bench {
namespace {

constexpr double spread_max = 0.10;
constexpr int tries_max = 3;
constexpr int pairs_min = 9;

Row measure_once(const PairedBenchmark& benchmark, int pairs) {
  std::vector<double> values;
  std::vector<double> limits;
  std::vector<double> ratios;
  Row row{.name = benchmark.name, .unit = benchmark.unit};
  (void)benchmark.limit();
  (void)benchmark.engine();
  for (int i = 0; i < pairs; ++i) {
    const Sample limit = benchmark.limit();
    const Sample engine = benchmark.engine();
    row.results_agree = row.results_agree && limit.result_hash == engine.result_hash;
    values.push_back(engine.value);
    limits.push_back(limit.value);
    ratios.push_back(engine.value / limit.value);
  }
  row.value = quantile(values, 0.5);
  row.limit = quantile(limits, 0.5);
  row.ratio = quantile(ratios, 0.5);
  row.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / row.ratio;
  row.valid = row.results_agree && row.spread <= spread_max && pairs >= pairs_min;
  return row;
}

}  // namespace

Row measure(const PairedBenchmark& benchmark, int pairs) {
  Row best;
  for (int attempt = 1; attempt <= tries_max; ++attempt) {
    Row row = measure_once(benchmark, pairs);
    row.tries = attempt;
    if (attempt == 1 || row.valid || row.spread < best.spread) {
      best = row;
      best.tries = attempt;
    }
    if (row.valid || !row.results_agree || pairs < pairs_min) break;
  }
  return best;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void keep(std::uint64_t value) {
  asm volatile("" : : "g"(value) : "memory");
}

}  // namespace weir::bench
