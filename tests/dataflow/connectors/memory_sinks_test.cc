// The sinks that leave nothing behind: print, collect and discard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dataflow/connectors/collect.h"
#include "dataflow/connectors/discard.h"
#include "dataflow/connectors/print.h"
#include "tests/dataflow/connectors/writer_harness.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Visit {
  std::string page;
  int count = 0;
};

static_assert(SinkDescription<Print, Visit>);
static_assert(SinkDescription<Discard, Visit>);
static_assert(SinkDescription<Collect<Visit>, Visit>);
static_assert(!SinkDescription<Collect<Visit>, int>);

class RecordedOutput final : public LineOutput {
 public:
  [[nodiscard]] Result<void> write(std::string_view lines) override {
    writes.emplace_back(lines);
    return {};
  }
  std::vector<std::string> writes;
};

class BrokenOutput final : public LineOutput {
 public:
  [[nodiscard]] Result<void> write(std::string_view) override {
    return Error{Errc::output_failed, "cannot write to standard output: Broken pipe"};
  }
};

TEST(Print, writes_a_line_a_row_and_a_batch_at_once) {
  const auto output = std::make_shared<RecordedOutput>();
  WriterHarness<Visit> writer(print({.output = output}));
  ASSERT_TRUE(writer.write({{"a", 1}, {"b", 2}}));
  ASSERT_TRUE(writer.write({{"c", 3}}));
  EXPECT_THAT(output->writes, ElementsAre("page=a count=1\npage=b count=2\n", "page=c count=3\n"));
}

TEST(Print, says_which_of_several_writers_it_was) {
  const auto output = std::make_shared<RecordedOutput>();
  WriterHarness<std::string> writer(print({.output = output}), {.subtask = 1, .parallelism = 4});
  ASSERT_TRUE(writer.write({"a", "b"}));
  EXPECT_THAT(output->writes, ElementsAre("2> a\n2> b\n"));
}

TEST(Print, reports_an_output_that_is_gone) {
  WriterHarness<std::string> writer(print({.output = std::make_shared<BrokenOutput>()}));
  EXPECT_EQ(writer.write({"a"}).error().code, Errc::output_failed);
}

TEST(Print, writes_to_standard_output_unless_told_otherwise) {
  WriterHarness<std::string> writer(print());
  testing::internal::CaptureStdout();
  ASSERT_TRUE(writer.write({"a", "b"}));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\nb\n");
}

TEST(StandardOutput, keeps_the_lines_of_threads_whole) {
  testing::internal::CaptureStdout();
  {
    std::vector<std::jthread> threads;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      threads.emplace_back([letter] {
        const std::string line = std::string(5'000, letter) + '\n';
        for (int i = 0; i < 50; ++i) EXPECT_TRUE(standard_output()->write(line));
      });
    }
  }
  const std::string captured = testing::internal::GetCapturedStdout();
  ASSERT_EQ(captured.size(), 4U * 50 * 5'001);
  for (std::size_t at = 0; at < captured.size(); at += 5'001) {
    ASSERT_EQ(captured.substr(at, 5'001), std::string(5'000, captured[at]) + '\n');
  }
}

TEST(Collect, keeps_the_rows_of_all_writers) {
  const auto rows = std::make_shared<CollectedRows<int>>();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t subtask = 0; subtask < 4; ++subtask) {
      threads.emplace_back([&rows, subtask] {
        WriterHarness<int> writer(collect(rows), {.subtask = subtask, .parallelism = 4});
        for (int i = 0; i < 100; ++i)
          EXPECT_TRUE(writer.write({static_cast<int>(subtask) * 100 + i}));
      });
    }
  }
  const auto all = rows->rows();
  EXPECT_THAT(all, SizeIs(400));
  EXPECT_THAT(std::set(all.begin(), all.end()), SizeIs(400));
  EXPECT_EQ(rows->take(), all);
  EXPECT_THAT(rows->rows(), IsEmpty());
}

TEST(Collect, leaves_the_batch_to_others) {
  const auto rows = std::make_shared<CollectedRows<std::string>>();
  const auto writer = collect(rows).make_writer<std::string>();
  auto batch = std::make_shared<Batch<std::string>>();
  batch->values = {"a", "b", "c"};
  BatchPtr in = batch;
  const StepBudget budget(system_clock(), limits::step_time_max);
  Outputs out({}, budget);
  ASSERT_TRUE(writer->process(InputPort{0}, in, {1, 3}, out));
  EXPECT_THAT(rows->rows(), ElementsAre("b", "c"));
  EXPECT_THAT(batch->values, ElementsAre("a", "b", "c"));
}

TEST(Discard, takes_everything) {
  WriterHarness<Visit> writer(discard());
  EXPECT_TRUE(writer.write({{"a", 1}}));
  EXPECT_THAT(*writer.prepare_commit(), IsEmpty());
  EXPECT_EQ(discard().make_committer(), nullptr);
}

}  // namespace
}  // namespace weir
