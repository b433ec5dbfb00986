// A slow sink in one process holds back the source in another.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::uint64_t taken(const TestCluster& cluster) {
  std::uint64_t sum = 0;
  for (const char* subtask : {"0", "1"})
    sum += read_file(cluster.file(std::string("taken-") + subtask)).size();
  return sum;
}

// A run of the job whose sinks take 1,000 records a second each.
class SlowRun {
 public:
  SlowRun(TestCluster& cluster, const std::string& input)
      : cluster_(&cluster),
        client(cluster.start({test_job("slow_words"), "--input", input, "--directory",
                              cluster.file(""), "--parallelism", "2"})) {
    EXPECT_TRUE(cluster.has_task_processes(2));
    EXPECT_TRUE(soon([&] { return taken(cluster) > 0; })) << client->err();
  }

  // The most that its processes had at once.
  long watch_memory_kb(std::chrono::milliseconds time) {
    long largest = 0;
    const MonotonicTime end = system_clock().now() + time;
    while (system_clock().now() < end) {
      long now = 0;
      for (const pid_t process : cluster_->task_processes()) now += figures_of(process).resident_kb;
      largest = std::max(largest, now);
      EXPECT_FALSE(soon([&] { return !client->is_running(); }, 20ms)) << client->err();
    }
    return largest;
  }

 private:
  TestCluster* cluster_;

 public:
  std::unique_ptr<RunningProgram> client;
};

TEST(FlowControlBetweenProcesses, a_line_of_a_million_words_into_slow_sinks_stays_within_20_MB) {
  TestCluster cluster({.slots = 1});
  const auto words = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) (text += "word") += {static_cast<char>('a' + i % 26), ' '};
    return text;
  };
  long idle_kb = 0;
  {
    SlowRun run(cluster, cluster.write("few.txt", words(20'000)));
    idle_kb = run.watch_memory_kb(500ms);
    run.client->send_signal(SIGINT);
    EXPECT_EQ(run.client->exit_code(), 130) << run.client->err();
  }
  ASSERT_TRUE(cluster.has_task_processes(0));
  std::filesystem::remove(cluster.file("taken-0"));
  std::filesystem::remove(cluster.file("taken-1"));

  SlowRun run(cluster, cluster.write("line.txt", words(1'000'000)));
  const long grown_kb = run.watch_memory_kb(3s) - idle_kb;
  EXPECT_LT(grown_kb, shadow_factor * 20 * 1024);
  EXPECT_GT(taken(cluster), 500U);
  EXPECT_LT(taken(cluster), 20'000U);

  const MonotonicTime cancelled_at = system_clock().now();
  run.client->send_signal(SIGINT);
  EXPECT_EQ(run.client->exit_code(), 130) << run.client->err();
  const auto took = system_clock().now() - cancelled_at;
  EXPECT_LT(took, patience_factor * 1s);
  EXPECT_TRUE(cluster.has_task_processes(0));
  std::printf("grew by %ld KB, cancelled in %.0f ms\n", grown_kb,
              std::chrono::duration<double, std::milli>(took).count());
}

}  // namespace
}  // namespace weir
