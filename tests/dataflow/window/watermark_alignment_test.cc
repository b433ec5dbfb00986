#include "dataflow/window/watermark_alignment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "dataflow/window/watermark_strategy.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Duration drift{1000};
constexpr AlignmentMember sub0{{1}, {0}};
constexpr AlignmentMember sub1{{1}, {1}};

// How far members of the group may go.
EventTime allowed(const WatermarkAligner& aligner, const std::string& group = "g") {
  return allowed_watermark(aligner.least(group), drift);
}

// V13.
TEST(WatermarkAligner, lets_all_go_as_far_beyond_the_slowest_as_they_may_drift) {
  WatermarkAligner aligner;
  aligner.report("g", sub0, EventTime{42});
  EXPECT_EQ(allowed(aligner), EventTime{1042});
  aligner.report("g", sub1, EventTime{44});
  EXPECT_EQ(allowed(aligner), EventTime{1042});
  aligner.report("g", sub0, EventTime{5000});
  EXPECT_EQ(allowed(aligner), EventTime{1044});
}

// V13.
TEST(WatermarkAligner, is_not_held_by_those_that_are_idle) {
  WatermarkAligner aligner;
  aligner.report("g", sub0, EventTime{42});
  aligner.report("g", sub1, EventTime{44});
  aligner.report("g", sub0, EventTime::max());
  EXPECT_EQ(allowed(aligner), EventTime{1044});
  aligner.report("g", sub0, EventTime{42});
  EXPECT_EQ(allowed(aligner), EventTime{1042}) << "it is not idle any more";
  aligner.report("g", sub0, EventTime::max());
  aligner.report("g", sub1, EventTime::max());
  EXPECT_EQ(allowed(aligner), EventTime::max());
}

// V13.
TEST(WatermarkAligner, keeps_groups_apart) {
  WatermarkAligner aligner;
  aligner.report("g1", sub0, EventTime{42});
  aligner.report("g2", sub1, EventTime{44});
  EXPECT_EQ(allowed(aligner, "g1"), EventTime{1042});
  EXPECT_EQ(allowed(aligner, "g2"), EventTime{1044});
}

TEST(WatermarkAligner, is_not_held_by_those_that_have_ended) {
  WatermarkAligner aligner;
  aligner.report("g", sub0, EventTime{42});
  aligner.report("g", sub1, EventTime{44});
  aligner.remove(sub0);
  EXPECT_EQ(allowed(aligner), EventTime{1044});
  aligner.remove(sub0);
  aligner.remove(sub1);
  EXPECT_EQ(allowed(aligner), EventTime::max());
}

TEST(WatermarkAligner, is_held_by_those_that_have_no_watermark_yet) {
  WatermarkAligner aligner;
  aligner.report("g", sub0, EventTime{42});
  aligner.report("g", sub1, EventTime::min());
  EXPECT_LT(allowed(aligner), EventTime{42});
}

TEST(WatermarkAlignment, says_what_is_wrong_with_it) {
  EXPECT_FALSE(monotonous().with_alignment("g", 0ms).mistake());
  EXPECT_EQ(
      monotonous().with_alignment("", 1s).mistake(),
      "with_alignment(\"\", …) has an empty group: give it a name, the same for the streams that "
      "wait for each other");
  EXPECT_EQ(monotonous().with_alignment("g", -1ms).mistake(),
            "with_alignment(\"g\", …) has a drift of -1 ms: it must not be below 0");
  EXPECT_EQ(monotonous().with_alignment("g", 1s, 0ms).mistake(),
            "with_alignment(\"g\", …) has an update interval of 0 ms: it must be above 0");
  EXPECT_EQ(monotonous().with_alignment(std::string(201, 'g'), 1s).mistake(),
            "with_alignment(\"" + std::string(40, 'g') +
                "\", …) has a group's name of 201 bytes: at most 200 are possible");
}

}  // namespace
}  // namespace weir
