// Measures the engine against hand-written limits: weir_bench [NAME…] [--json] [--pairs N].
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/launch.h"
#include "actors/task_process.h"
#include "bench/benchmarks.h"

namespace weir::bench {
namespace {

using Make = std::function<PairedBenchmark()>;

std::vector<std::pair<std::string, Make>> all_benchmarks(const std::string& program) {
  return {{"limit_keyed_count", limit_keyed_count},
          {"keyed_count_chained", keyed_count_chained},
          {"keyed_count_exchange", keyed_count_exchange},
          {"sliding_vs_tumbling", sliding_vs_tumbling},
          {"session_windows", session_windows},
          {"interval_join", interval_join},
          {"skew", skew},
          {"idle_latency_p50", [] { return idle_latency(0.50, "idle_latency_p50"); }},
          {"idle_latency_p99", [] { return idle_latency(0.99, "idle_latency_p99"); }},
          {"memory_per_key", memory_per_key},
          {"snapshot_pause_memory", snapshot_pause_memory},
          {"snapshot_latency_memory", snapshot_latency_memory},
          {"snapshot_latency_records", snapshot_latency_records},
          {"checkpoint_overhead", checkpoint_overhead},
          {"first_result", [program] { return first_result(program); }},
          {"embedded_memory", [program] { return embedded_memory(program); }},
          {"shuffle_tcp", [program] { return shuffle_tcp(program); }},
          {"cluster_first_result", [program] { return cluster_first_result(program); }},
          {"worker_memory", [program] { return worker_memory(program); }},
          {"task_memory", [program] { return task_memory(program); }}};
}

void print_json(const Row& row) {
  std::printf(
      "{\"name\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"limit\":%.4g,\"ratio\":%.3f,\"spread\":%."
      "3f,\"valid\":%s}\n",
      row.name.c_str(), row.value, row.unit.c_str(), row.limit, row.ratio, row.spread,
      row.valid ? "true" : "false");
}

void print_for_people(const Row& row, const std::string& what) {
  std::printf("%-22s %10.4g %-12s limit %10.4g  ratio %6.3f  spread %4.1f %%  %s%s\n    %s\n",
              row.name.c_str(), row.value, row.unit.c_str(), row.limit, row.ratio, row.spread * 100,
              row.valid ? "valid" : "not valid", row.results_agree ? "" : ": results differ",
              what.c_str());
}

int run_all(const std::string& program, const std::vector<std::string>& names, int pairs,
            bool json) {
  const auto benchmarks = all_benchmarks(program);
  for (const std::string& name : names) {
    const bool known =
        std::ranges::any_of(benchmarks, [&](const auto& entry) { return entry.first == name; });
    if (known) continue;
    std::fprintf(stderr, "weir_bench: no benchmark is called '%s'; there are:\n", name.c_str());
    for (const auto& [other, make] : benchmarks) std::fprintf(stderr, "  %s\n", other.c_str());
    return 2;
  }
  bool all_agree = true;
  for (const auto& [name, make] : benchmarks) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    const PairedBenchmark benchmark = make();
    const Row row = measure(benchmark, pairs);
    all_agree = all_agree && row.results_agree;
    json ? print_json(row) : print_for_people(row, benchmark.what);
    std::fflush(stdout);
  }
  return all_agree ? 0 : 1;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == weir::task_process_argument)
    return weir::launch(argc, argv, weir::bench::describe_bench_job);
  CLI::App app{
      "Measures the engine against hand-written limits, in turn and in one process. A row is valid "
      "when the "
      "interquartile range of the pairs' ratios is at most 10 % of their median."};
  std::vector<std::string> names;
  bool json = false;
  int pairs = 9;
  std::string child;
  app.add_option("NAME", names, "benchmarks to run; default: all");
  app.add_flag("--json", json, "print one object a line");
  app.add_option("--pairs", pairs,
                 "pairs of runs per benchmark; at least 9 are needed for a valid row")
      ->check(CLI::PositiveNumber);
  app.add_option("--child", child)->group("");
  app.allow_extras(argc > 1 && std::string(argv[1]).starts_with("--child=cluster-"));
  app.set_version_flag("--version", WEIR_VERSION);
  CLI11_PARSE(app, argc, argv);
  if (child.starts_with("cluster-")) {
    const std::vector<std::string> extras = app.remaining();
    names.insert(names.end(), extras.begin(), extras.end());
    return weir::bench::run_cluster_job(child, names);
  }
  if (!child.empty()) return weir::bench::run_child(child);
  return weir::bench::run_all("/proc/self/exe", names, pairs, json);
}
