#include "dataflow/operators/async_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A service that answers when the test says so.
struct Service {
  std::multimap<int, AsyncResult<std::string>> requests;

  void answer(int value) {
    const auto found = requests.find(value);
    ASSERT_NE(found, requests.end()) << "no request for " << value;
    found->second.complete(std::to_string(value));
    requests.erase(found);
  }
  void fail(int value, const std::string& why) {
    const auto found = requests.find(value);
    ASSERT_NE(found, requests.end()) << "no request for " << value;
    found->second.fail(why);
    requests.erase(found);
  }
};

using Harness = StreamHarness<int, std::string>;
using Texts = std::vector<std::string>;
using Outputs = std::vector<Emitted<std::string>>;

class AsyncMap : public testing::Test {
 protected:
  std::unique_ptr<Harness> make(AsyncOptions options = {}, HarnessOptions harness = {}) {
    return std::make_unique<Harness>(
        [this, options](Stream<int> in) {
          return in.async_map(
              "lookup",
              [service = service_](int value, AsyncResult<std::string> result) {
                service->requests.emplace(value, result);
              },
              options);
        },
        std::move(harness));
  }
  // Lets the harness see what has been answered.
  static Texts take(Harness& harness) {
    harness.advance_processing_time(0ms);
    return harness.take_values();
  }
  static Record<std::string> record(const std::string& value, std::int64_t ms) {
    return {value, EventTime{ms}};
  }

  std::shared_ptr<Service> service_ = std::make_shared<Service>();
};

TEST_F(AsyncMap, ordered_answers_leave_in_the_order_of_the_records) {
  auto harness = make();
  for (int i = 1; i <= 3; ++i) harness->push(i);
  service_->answer(3);
  service_->answer(2);
  EXPECT_THAT(take(*harness), IsEmpty());
  service_->answer(1);
  EXPECT_THAT(take(*harness), ElementsAre("1", "2", "3"));
}

TEST_F(AsyncMap, unordered_answers_leave_as_they_come_but_never_across_a_watermark) {
  auto harness = make({.order = AsyncOrder::unordered});
  harness->push(1, EventTime{1});
  harness->push(2, EventTime{2});
  harness->watermark(EventTime{2});
  harness->push(3, EventTime{3});
  service_->answer(3);
  service_->answer(2);
  harness->advance_processing_time(0ms);
  EXPECT_EQ(harness->take_outputs(), (Outputs{record("2", 2)}));
  service_->answer(1);
  harness->advance_processing_time(0ms);
  EXPECT_EQ(harness->take_outputs(),
            (Outputs{record("1", 1), Watermark{EventTime{2}}, record("3", 3)}));
}

TEST_F(AsyncMap, an_answer_may_be_several_records_or_none) {
  auto harness = make();
  harness->push(1);
  harness->push(2);
  service_->requests.find(1)->second.complete_with({});
  service_->requests.find(2)->second.complete_with({"a", "b"});
  EXPECT_THAT(take(*harness), ElementsAre("a", "b"));
}

TEST_F(AsyncMap, a_large_answer_leaves_in_batches) {
  auto harness = make();
  harness->push(1);
  harness->watermark(EventTime{5});
  service_->requests.find(1)->second.complete_with(std::vector<std::string>(20'000, "x"));
  harness->advance_processing_time(0ms);
  const auto outputs = harness->take_outputs();
  ASSERT_THAT(outputs, SizeIs(20'001));
  EXPECT_EQ(outputs.back(), Emitted<std::string>(Watermark{EventTime{5}}));
}

TEST_F(AsyncMap, has_no_more_under_way_than_its_capacity) {
  auto harness = make({.capacity = 2});
  harness->push_batch({{1}, {2}, {3}, {4}});
  EXPECT_THAT(service_->requests, SizeIs(2));
  service_->answer(1);
  EXPECT_THAT(take(*harness), ElementsAre("1"));
  EXPECT_EQ(service_->requests.count(3), 1U);
  EXPECT_EQ(service_->requests.count(4), 0U);
}

TEST_F(AsyncMap, the_end_of_the_input_waits_for_the_answers) {
  auto harness = make();
  harness->push(1);
  harness->end_input();
  EXPECT_FALSE(harness->finished());
  service_->answer(1);
  EXPECT_THAT(take(*harness), ElementsAre("1"));
  EXPECT_TRUE(harness->finished());
}

TEST_F(AsyncMap, only_the_first_answer_counts) {
  auto harness = make();
  harness->push(1);
  const auto result = service_->requests.find(1)->second;
  result.complete("first");
  result.complete("second");
  EXPECT_THAT(take(*harness), ElementsAre("first"));
  result.complete("third");
  EXPECT_THAT(take(*harness), IsEmpty());
}

TEST_F(AsyncMap, a_service_that_never_answers_fails_the_task_after_the_timeout) {
  auto harness = make({.timeout = 1s});
  harness->push(1);
  harness->advance_processing_time(999ms);
  EXPECT_TRUE(harness->status());
  harness->advance_processing_time(1ms);
  ASSERT_FALSE(harness->status());
  EXPECT_EQ(harness->status().error().code, Errc::timeout);
  EXPECT_THAT(harness->status().error().message,
              HasSubstr("'lookup' got no answer for a record within 1000 ms"));
}

TEST_F(AsyncMap, a_timeout_may_be_endless) {
  auto harness = make({.timeout = Duration::max()}, {.processing_time = ProcessingTime{1}});
  harness->push(1);
  harness->advance_processing_time(24h);
  ASSERT_TRUE(harness->status()) << harness->status().error().message;
  service_->answer(1);
  EXPECT_THAT(take(*harness), ElementsAre("1"));
}

TEST_F(AsyncMap, the_timeout_is_heeded_while_the_capacity_is_used_up) {
  auto harness = make({.capacity = 1, .timeout = 1s});
  harness->push_batch({{1}, {2}});
  harness->advance_processing_time(1s);
  EXPECT_FALSE(harness->status());
}

TEST_F(AsyncMap, a_failure_is_tried_again_with_a_growing_delay_and_then_fails_the_task) {
  auto harness = make({.retry = {.attempts = 3, .delay = 100ms, .backoff = 2.0}});
  harness->push(1);
  service_->fail(1, "busy");
  harness->advance_processing_time(0ms);
  harness->advance_processing_time(99ms);
  EXPECT_THAT(service_->requests, IsEmpty());
  harness->advance_processing_time(1ms);
  ASSERT_THAT(service_->requests, SizeIs(1));
  service_->fail(1, "busy");
  harness->advance_processing_time(0ms);
  harness->advance_processing_time(199ms);
  EXPECT_THAT(service_->requests, IsEmpty());
  harness->advance_processing_time(1ms);
  ASSERT_THAT(service_->requests, SizeIs(1));
  service_->fail(1, "still busy");
  harness->advance_processing_time(0ms);
  ASSERT_FALSE(harness->status());
  EXPECT_EQ(harness->status().error().message,
            "'lookup' failed a request after 3 attempts: still busy");
}

TEST_F(AsyncMap, an_exception_is_a_failure_of_the_request) {
  Harness harness([](Stream<int> in) {
    return in.async_map(
        "lookup", [](int, AsyncResult<std::string>) { throw std::runtime_error("no connection"); });
  });
  harness.push(1);
  harness.advance_processing_time(0ms);
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().message, "'lookup' failed a request: no connection");
}

// V69, with a restore at every point: what is under way is asked for again, and comes once.
TEST_F(AsyncMap, what_is_under_way_is_asked_for_again_after_a_restore) {
  for (const AsyncOrder order : {AsyncOrder::ordered, AsyncOrder::unordered}) {
    for (int restored = 0; restored <= 6; ++restored) {
      SCOPED_TRACE(testing::Message() << "restored before step " << restored);
      service_->requests.clear();
      auto harness = make({.order = order});
      Texts seen;
      for (int step = 0; step < 6; ++step) {
        if (step == restored) {
          for (const auto& text : take(*harness)) seen.push_back(text);
          service_->requests.clear();
          harness = make({.order = order}, {.restored = harness->snapshot()});
        }
        if (step < 4) harness->push(step, EventTime{step});
        if (step == 4) service_->answer(0);
        if (step == 5) service_->answer(2);
      }
      for (const auto& text : take(*harness)) seen.push_back(text);
      for (const int value : {1, 2, 3}) {
        if (service_->requests.count(value) > 0) service_->answer(value);
      }
      for (const auto& text : take(*harness)) seen.push_back(text);
      std::ranges::sort(seen);
      EXPECT_THAT(seen, ElementsAre("0", "1", "2", "3"));
    }
  }
}

TEST_F(AsyncMap, a_watermark_that_waits_behind_records_is_restored_behind_them) {
  auto first = make();
  first->push(1, EventTime{1});
  first->watermark(EventTime{5});
  service_->requests.clear();
  auto second = make({}, {.restored = first->snapshot()});
  EXPECT_THAT(second->take_outputs(), IsEmpty());
  service_->answer(1);
  second->advance_processing_time(0ms);
  EXPECT_EQ(second->take_outputs(), (Outputs{record("1", 1), Watermark{EventTime{5}}}));
}

// As if both had been subtasks of one step.
JobSnapshot united(JobSnapshot snapshot, JobSnapshot other) {
  for (auto& [node, states] : other) {
    for (RestoredState& state : states) snapshot[node].push_back(std::move(state));
  }
  return snapshot;
}

TEST_F(AsyncMap, after_a_restore_no_watermark_comes_that_a_subtask_had_not_reached) {
  auto ahead = make();
  ahead->push(1, EventTime{90});
  ahead->watermark(EventTime{100});
  auto behind = make();
  behind->watermark(EventTime{50});
  service_->requests.clear();
  auto restored = make({}, {.restored = united(ahead->snapshot(), behind->snapshot())});
  service_->answer(1);
  restored->advance_processing_time(0ms);
  EXPECT_EQ(restored->take_outputs(), (Outputs{record("1", 90), Watermark{EventTime{50}}}));
}

TEST_F(AsyncMap, after_a_restore_no_watermark_comes_if_a_subtask_had_received_none) {
  auto ahead = make();
  ahead->watermark(EventTime{100});
  auto fresh = make();
  auto restored = make({}, {.restored = united(ahead->snapshot(), fresh->snapshot())});
  restored->advance_processing_time(0ms);
  EXPECT_THAT(restored->take_outputs(), IsEmpty());
}

TEST_F(AsyncMap, after_a_restore_watermarks_do_not_go_back) {
  auto first = make();
  first->watermark(EventTime{50});
  auto second = make({}, {.restored = first->snapshot()});
  second->watermark(EventTime{40});
  second->watermark(EventTime{60});
  EXPECT_EQ(second->take_outputs(), (Outputs{Watermark{EventTime{50}}, Watermark{EventTime{60}}}));
}

TEST_F(AsyncMap, answers_come_from_any_thread) {
  auto harness = make({.capacity = 1000});
  for (int i = 0; i < 1000; ++i) harness->push(i);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (const auto& [value, result] : service_->requests) {
        if (value % 4 == t) result.complete(std::to_string(value));
      }
    });
  }
  threads.clear();
  const Texts seen = take(*harness);
  ASSERT_THAT(seen, SizeIs(1000));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(AsyncMap, impossible_options_are_mistakes_of_the_plan) {
  EXPECT_THAT(make({.capacity = 0})->status().error().message, HasSubstr("the capacity 0"));
  EXPECT_THAT(make({.timeout = 0ms})->status().error().message, HasSubstr("a timeout of 0 ms"));
  EXPECT_THAT(make({.retry = {.attempts = 0}})->status().error().message,
              HasSubstr("it must make at least one"));
}

}  // namespace
}  // namespace weir
