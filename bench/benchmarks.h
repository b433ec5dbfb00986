// The benchmarks that weir_bench runs, by the file they are in.
#pragma once

#include <string>
#include <vector>

#include "bench/paired.h"
#include "dataflow/api/job.h"

namespace weir::bench {

// keyed_count.cc
[[nodiscard]] PairedBenchmark keyed_count_chained();
[[nodiscard]] PairedBenchmark keyed_count_exchange();
// How near the hand-written loop is to the figure of the reference machine, scaled by memory
// bandwidth.
[[nodiscard]] PairedBenchmark limit_keyed_count();

// windows.cc
[[nodiscard]] PairedBenchmark sliding_vs_tumbling();
[[nodiscard]] PairedBenchmark session_windows();
[[nodiscard]] PairedBenchmark skew();

// joins.cc
[[nodiscard]] PairedBenchmark interval_join();

// checkpoints.cc
[[nodiscard]] PairedBenchmark memory_per_key();
[[nodiscard]] PairedBenchmark snapshot_pause_memory();
[[nodiscard]] PairedBenchmark snapshot_latency_memory();
[[nodiscard]] PairedBenchmark snapshot_latency_records();
[[nodiscard]] PairedBenchmark checkpoint_overhead();

// idle_latency.cc
[[nodiscard]] PairedBenchmark idle_latency(double quantile, const std::string& name);

// process_start.cc: each runs this program again as a child, by its path.
[[nodiscard]] PairedBenchmark first_result(const std::string& program);
[[nodiscard]] PairedBenchmark embedded_memory(const std::string& program);
// What the children do; returns the exit code, or nothing if the arguments are not a child's.
[[nodiscard]] int run_child(const std::string& role);

// cluster.cc: each starts nodes as children, and clients by this program's path.
[[nodiscard]] PairedBenchmark shuffle_tcp(const std::string& program);
[[nodiscard]] PairedBenchmark cluster_first_result(const std::string& program);
[[nodiscard]] PairedBenchmark worker_memory(const std::string& program);
[[nodiscard]] PairedBenchmark task_memory(const std::string& program);
// A client of theirs; the arguments are the master's address and options of the job.
[[nodiscard]] int run_cluster_job(const std::string& role, std::vector<std::string> arguments);
// What client and task processes run.
void describe_bench_job(Job& job);

}  // namespace weir::bench
