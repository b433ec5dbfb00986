// Jobs that come and go leave nothing behind in master and workers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "actors/dispatcher.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Submits one program again and again, over one connection.
class Cycles {
 public:
  explicit Cycles(TestCluster& cluster) : cluster_(cluster.connect()) {
    const JobId first = cluster.submit({test_job("misbehaving"), "--parallelism", "2"});
    EXPECT_EQ(cluster.outcome(first).state, JobState::finished);
    graph_ = cluster_->details(first)->graph;
    auto executable = cluster_->upload(test_job("misbehaving"));
    EXPECT_TRUE(executable);
    program_.executable = *executable;
    program_.name = program_.job_name = "misbehaving";
    program_.parallelism = 2;
  }

  void run(int count) {
    for (int i = 0; i < count; ++i) {
      const JobId job{fresh_seed()};
      // What the master remembers until then is little, but would look like growth.
      const JobSettings settings{.slot_timeout = patience_factor * 5s,
                                 .deploy_timeout = patience_factor * 5s};
      ASSERT_TRUE(cluster_->submit(job, graph_, settings, program_));
      JobState state{};
      ASSERT_TRUE(soon([&] {
        const auto progress = cluster_->progress(job);
        if (progress) state = progress->state;
        return is_terminal(state);
      }));
      ASSERT_EQ(state, JobState::finished);
    }
  }

 private:
  std::unique_ptr<ClusterClient> cluster_;
  JobGraph graph_;
  JobProgram program_;
};

// The address sanitizer keeps freed memory for a while, which would look like growth of the nodes.
void let_nodes_free_memory_at_once() {
  if (!has_address_sanitizer) return;
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string options = given != nullptr ? given : "";
  ::setenv("ASAN_OPTIONS",
           (options + ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0").c_str(), 1);
}

TEST(Cycles, of_jobs_leave_no_memory_threads_descriptors_or_files_behind) {
  const bool is_long = std::getenv("WEIR_LONG") != nullptr;
  const int warm_up = is_long ? 120 : 20;
  const int measured = is_long ? 1000 : 40;
  let_nodes_free_memory_at_once();
  TestCluster cluster({.slots = 1});
  Cycles cycles(cluster);
  ASSERT_NO_FATAL_FAILURE(cycles.run(warm_up));

  const std::vector<pid_t> nodes{cluster.master().process(), cluster.worker(0).process(),
                                 cluster.worker(1).process()};
  std::vector<ProcessFigures> before;
  for (const pid_t node : nodes) before.push_back(figures_of(node));
  const std::size_t files_of_master = files_below(cluster.file("master"));
  const std::size_t files_of_worker = files_below(cluster.file("worker-0/worker/blobs"));
  const MonotonicTime begin = system_clock().now();
  ASSERT_NO_FATAL_FAILURE(cycles.run(measured));
  const std::chrono::duration<double> took = system_clock().now() - begin;
  ASSERT_TRUE(cluster.has_task_processes(0));
  // Threads of ended actors and connections of ended processes may be on their way out.
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    (void)soon(
        [&] {
          const ProcessFigures now = figures_of(nodes[i]);
          return now.threads <= before[i].threads && now.descriptors <= before[i].descriptors;
        },
        2s);
  }

  std::printf("%d cycles, %.0f ms each\n", measured, 1000 * took.count() / measured);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ProcessFigures after = figures_of(nodes[i]);
    std::printf("%s: memory %+ld KB of %ld, threads %zu → %zu, descriptors %zu → %zu\n",
                i == 0 ? "master" : "worker", after.private_kb - before[i].private_kb,
                before[i].private_kb, before[i].threads, after.threads, before[i].descriptors,
                after.descriptors);
    EXPECT_LE(after.threads, before[i].threads + 1);
    EXPECT_LE(after.descriptors, before[i].descriptors + 1);
    // The history of jobs is full only in the long run.
    EXPECT_LE(after.private_kb - before[i].private_kb, shadow_factor * 2048);
  }
  EXPECT_EQ(files_below(cluster.file("master")), files_of_master);
  for (const char* worker : {"worker-0/worker/", "worker-1/worker/"}) {
    EXPECT_TRUE(soon([&] { return files_below(cluster.file(worker + std::string("jobs"))) == 0; }));
    EXPECT_EQ(files_below(cluster.file(worker + std::string("blobs"))), files_of_worker);
    // A directory and two files for each job.
    EXPECT_LE(files_below(cluster.file(worker + std::string("logs"))), 3 * 101U);
  }
  const auto jobs = cluster.connect()->jobs();
  EXPECT_TRUE(jobs->running.empty());
  EXPECT_LE(jobs->ended.size(), Dispatcher::history_max);
}

}  // namespace
}  // namespace weir
