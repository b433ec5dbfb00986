#include "dataflow/window/split_watermarks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

// The watermark is what a record says.
struct AsSaid {
  EventTime said = EventTime::min();
  void on_record(int /*value*/, EventTime at) { said = at; }
  [[nodiscard]] EventTime current() const { return said; }
};

// Splits 1, 2, 3 … whose watermarks and silence a test says.
class Splits {
 public:
  explicit Splits(std::uint64_t count, std::optional<Duration> idle_after = 10ms)
      : merged_([] { return AsSaid{}; }, idle_after) {
    if (idle_after) note(merged_.look(now_));
    for (std::uint64_t split = 1; split <= count; ++split) begin(split);
  }

  Splits& begin(std::uint64_t split) {
    note(merged_.begin({split},
                       std::make_shared<const std::string>("split " + std::to_string(split))));
    return *this;
  }
  Splits& end(std::uint64_t split) {
    note(merged_.end({split}));
    return *this;
  }
  Splits& at(std::uint64_t split, std::int64_t ms) {
    merged_.generator_of({split}).on_record(0, EventTime{ms});
    note(merged_.on_records());
    return *this;
  }
  // Nothing comes, but from those that are given, for twice the timeout.
  Splits& silence_of_others(const std::vector<std::uint64_t>& awake = {}) {
    const ProcessingTime until = now_ + 20ms;
    while (now_ < until) {
      for (const std::uint64_t split : awake) {
        (void)merged_.generator_of({split});
        note(merged_.on_records());
      }
      now_ = *merged_.next_look();
      note(merged_.look(now_));
    }
    return *this;
  }
  Splits& pause(Duration time) {
    const ProcessingTime until = now_ + time;
    while (now_ < until) {
      now_ = *merged_.next_look();
      note(merged_.look(now_, true));
    }
    return *this;
  }
  // What came of all that since the last call.
  [[nodiscard]] Texts take() { return std::exchange(texts_, {}); }
  [[nodiscard]] const SplitWatermarks<AsSaid>& merged() const { return merged_; }
  [[nodiscard]] bool is_news() { return merged_.take_overview_changed(); }

 private:
  void note(const MergedWatermark& merged) {
    if (merged.idle == false) texts_.emplace_back("ACTIVE");
    if (merged.watermark) texts_.push_back("WM " + std::to_string(merged.watermark->ms));
    if (merged.idle == true) texts_.emplace_back("IDLE");
  }

  SplitWatermarks<AsSaid> merged_;
  ProcessingTime now_{0};
  Texts texts_;
};

TEST(SplitWatermarks, of_a_single_split_are_its_own) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 25).at(1, 18).at(1, 42).take(), (Texts{"WM 25", "WM 42"}));
}

TEST(SplitWatermarks, of_records_of_no_split_are_their_own) {
  Splits splits(0);
  EXPECT_EQ(splits.at(0, 25).at(0, 42).take(), (Texts{"WM 25", "WM 42"}));
}

TEST(SplitWatermarks, are_the_least_of_all_splits) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 0).at(2, 0).take(), Texts{});
  EXPECT_EQ(splits.at(3, 0).take(), Texts{"WM 0"});
  EXPECT_EQ(splits.at(1, 12).at(3, 8).at(3, 10).take(), Texts{});
  EXPECT_EQ(splits.at(2, 15).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.at(3, 17).take(), Texts{"WM 12"});
  EXPECT_EQ(splits.at(1, 20).take(), Texts{"WM 15"});
}

TEST(SplitWatermarks, never_go_back) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 25).at(2, 10).at(3, 17).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.at(1, 12).at(2, 8).at(3, 15).take(), Texts{});
  EXPECT_EQ(splits.at(2, 30).take(), Texts{"WM 17"}) << "what a split had reached, it keeps";
}

TEST(SplitWatermarks, are_held_by_a_split_that_begins_until_its_first_record) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 10).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.begin(2).at(1, 20).take(), Texts{});
  EXPECT_EQ(splits.at(2, 5).at(1, 30).take(), Texts{}) << "and while it is behind";
  EXPECT_EQ(splits.at(2, 25).take(), Texts{"WM 25"});
}

TEST(SplitWatermarks, are_held_by_a_split_that_begins_until_it_is_idle) {
  Splits splits(2);
  EXPECT_EQ(splits.at(1, 10).take(), Texts{});
  EXPECT_EQ(splits.silence_of_others({1}).take(), Texts{"WM 10"});
}

// V11: a split that is taken away no longer holds the others.
TEST(SplitWatermarks, are_not_held_by_a_split_that_has_ended) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 30).at(2, 10).at(3, 20).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.end(2).take(), Texts{"WM 20"});
  EXPECT_EQ(splits.end(1).at(3, 40).take(), Texts{"WM 40"});
}

TEST(SplitWatermarks, stay_where_they_are_while_there_is_no_split) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 10).end(1).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.begin(2).at(2, 5).at(2, 12).take(), Texts{"WM 12"});
}

TEST(SplitWatermarks, without_a_split_are_idle_after_a_while) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 10).silence_of_others({1}).end(1).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.silence_of_others().take(), Texts{"IDLE"});
  EXPECT_EQ(splits.begin(2).take(), Texts{"ACTIVE"});
}

// V06.
TEST(SplitWatermarks, pass_over_idle_splits) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 15).at(2, 10).take(), Texts{});
  EXPECT_EQ(splits.silence_of_others({1, 2}).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.at(2, 18).take(), Texts{"WM 15"});
  EXPECT_EQ(splits.at(1, 20).take(), Texts{"WM 18"});
}

// V07.
TEST(SplitWatermarks, go_on_as_splits_fall_silent_one_by_one) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 25).at(2, 10).at(3, 17).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.silence_of_others({1, 3}).take(), Texts{"WM 17"});
  EXPECT_EQ(splits.silence_of_others({1}).take(), Texts{"WM 25"});
}

// V08.
TEST(SplitWatermarks, reach_the_largest_of_all_before_all_are_idle) {
  Splits splits(3);
  EXPECT_EQ(splits.at(1, 10).at(2, 5).at(3, 3).take(), Texts{"WM 3"});
  EXPECT_EQ(splits.silence_of_others({2, 3}).silence_of_others({3}).take(), Texts{});
  EXPECT_EQ(splits.silence_of_others().take(), (Texts{"WM 10", "IDLE"}));
}

// V10.
TEST(SplitWatermarks, are_active_again_before_the_first_watermark_of_one_that_wakes) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 25).silence_of_others().silence_of_others().take(),
            (Texts{"WM 25", "IDLE"}));
  EXPECT_EQ(splits.at(1, 50).take(), (Texts{"ACTIVE", "WM 50"}));
}

TEST(SplitWatermarks, wait_for_a_split_that_wakes_behind_the_others) {
  Splits splits(2);
  EXPECT_EQ(splits.at(1, 50).at(2, 10).silence_of_others({1}).take(), (Texts{"WM 10", "WM 50"}));
  EXPECT_EQ(splits.at(2, 20).at(1, 60).take(), Texts{}) << "what it has up to 60 is not to be late";
  EXPECT_EQ(splits.at(2, 55).take(), Texts{"WM 55"});
}

TEST(SplitWatermarks, do_not_take_the_silence_of_a_source_that_is_paused_for_idleness) {
  Splits splits(2);
  EXPECT_EQ(splits.at(1, 50).at(2, 10).pause(100ms).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.silence_of_others({1}).take(), Texts{"WM 50"});
  EXPECT_EQ(splits.pause(100ms).take(), Texts{}) << "and who was idle stays it";
}

TEST(SplitWatermarks, mix_with_those_of_records_of_no_split) {
  Splits splits(1);
  EXPECT_EQ(splits.at(1, 10).at(0, 5).at(1, 20).take(), Texts{"WM 10"});
  EXPECT_EQ(splits.at(0, 15).take(), Texts{"WM 15"});
  EXPECT_EQ(splits.end(1).at(0, 30).take(), Texts{"WM 30"});
}

TEST(SplitWatermarks, name_the_split_that_holds_them_and_those_that_are_idle) {
  Splits splits(3);
  splits.at(1, 15).at(2, 10).at(3, 12);
  EXPECT_EQ(splits.merged().overview(), (SplitOverview{.splits = 3,
                                                       .idle = 0,
                                                       .idle_ids = {},
                                                       .holder = "split 2",
                                                       .least = EventTime{10},
                                                       .furthest = EventTime{15}}));
  splits.silence_of_others({1, 3}).at(1, 20);
  EXPECT_EQ(splits.merged().overview(), (SplitOverview{.splits = 3,
                                                       .idle = 1,
                                                       .idle_ids = {"split 2"},
                                                       .holder = "split 3",
                                                       .least = EventTime{12},
                                                       .furthest = EventTime{20}}));
  EXPECT_TRUE(splits.silence_of_others().merged().overview().holder.empty());
}

TEST(SplitWatermarks, tell_when_there_is_something_new_to_show) {
  Splits splits(2);
  EXPECT_TRUE(splits.is_news()) << "splits have begun";
  EXPECT_TRUE(splits.at(1, 5).is_news()) << "the other holds now";
  EXPECT_TRUE(splits.at(2, 10).is_news());
  EXPECT_FALSE(splits.at(1, 7).at(2, 11).is_news()) << "but for the times nothing is new";
  EXPECT_TRUE(splits.silence_of_others({2}).is_news()) << "one is idle";
  EXPECT_TRUE(splits.end(1).is_news());
}

}  // namespace
}  // namespace weir
