// Tasks that are busy share the threads with those that wait for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "actors/run.h"
#include "dataflow/api/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// As many busy chains as there are threads, each with work without a pause; what they put out is for tasks that need the
// same threads.
TEST(Fairness, rows_come_out_of_a_job_whose_sources_are_busy_until_their_end) {
  const std::uint32_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t records = 5'000 * threads;
  const auto spun = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto spun_at_first_row = std::make_shared<std::atomic<std::uint64_t>>(0);

  Job job("busy_chain");
  job.source("numbers", generator([](std::uint64_t i) { return i; }, {.count = records}))
      .map([spun](std::uint64_t i) {
        spin(200us);
        spun->fetch_add(1);
        return i;
      })
      .key_by(std::identity{})
      .count("count")
      .map([spun, spun_at_first_row](const auto& row) {
        std::uint64_t none = 0;
        spun_at_first_row->compare_exchange_strong(none, spun->load());
        return row;
      })
      .to("nowhere", discard());
  const auto result = run(job, {.parallelism = threads});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(spun->load(), records);
  EXPECT_GT(spun_at_first_row->load(), 0U);
  EXPECT_LT(spun_at_first_row->load(), records / 2);
}

}  // namespace
}  // namespace weir
