// Streams of bool, whose vectors in the library are not as those of other types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "tests/support/files.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Lines final : public LineOutput {
 public:
  [[nodiscard]] Result<void> write(std::string_view lines) override {
    const std::lock_guard lock(mutex_);
    text_ += lines;
    return {};
  }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST(BoolStream, goes_through_steps_exchanges_and_sinks) {
  const TemporaryDirectory directory;
  const auto printed = std::make_shared<Lines>();
  Job job("bools");
  const auto odd = job.source("numbers", from_sequence(1, 10'001)).map([](std::int64_t n) {
    return n % 2 == 1;
  });
  odd.to("files", csv_files(directory.file("odd")));
  odd.filter(std::identity{}).to("print", print({.output = printed}));
  const auto counts = odd.rebalance()
                          .flat_map([](bool value) {
                            return std::vector<bool>{value, !value};
                          })
                          .key_by(std::identity{})
                          .count("count")
                          .at_end()
                          .collect();
  const auto all = odd.union_with(job.source("few", collection(std::vector<bool>{true, false})))
                       .broadcast()
                       .map([](bool value) { return !value; })
                       .parallelism(2)
                       .collect();
  const auto result = run(job, {.parallelism = 3});
  ASSERT_TRUE(result) << result.error().message;

  std::vector<std::string> rows;
  for (const auto& entry : std::filesystem::directory_iterator(directory.file("odd"))) {
    const auto lines = lines_of(read_file(entry.path()));
    rows.insert(rows.end(), lines.begin(), lines.end());
  }
  EXPECT_EQ(std::ranges::count(rows, "true"), 5'001);
  EXPECT_EQ(std::ranges::count(rows, "false"), 5'000);
  EXPECT_EQ(lines_of(printed->text()).size(), 5'001U);
  auto sums = counts->rows();
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].value, 10'001);
  EXPECT_EQ(sums[1].value, 10'001);
  const std::vector<bool> negated = all->rows();
  EXPECT_EQ(std::ranges::count(negated, false), 2 * 5'002);
  EXPECT_EQ(std::ranges::count(negated, true), 2 * 5'001);
}

struct Last {
  void on_window(std::span<const bool> values, WindowContext<bool, bool>& ctx) {
    ctx.emit(values.back());
  }
};

TEST(BoolStream, has_windows_and_joins) {
  Job job("bools");
  const auto timed =
      job.source("numbers", from_sequence(0, 999))
          .map([](std::int64_t n) { return n % 4 < 2; })
          .event_time([](bool value) { return EventTime{value ? 1 : 0}; }, bounded(1ms));
  const auto last =
      timed.key_by(std::identity{}).window(Tumbling::of(10ms)).process("last", Last{}).collect();
  const auto pairs = timed.key_by(std::identity{})
                         .interval_join(timed.key_by(std::identity{}))
                         .between(0ms, 0ms)
                         .process("pairs", [](bool a, bool b) { return a && b; })
                         .collect();
  const auto result = run(job, {.parallelism = 2});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(last->rows().size(), 2U);
  EXPECT_EQ(pairs->rows().size(), 2U * 500 * 500);
}

}  // namespace
}  // namespace weir
