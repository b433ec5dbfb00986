#include "dataflow/runtime/loop_marker_aligner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr LoopMarker quiet{false};
constexpr LoopMarker active{true};
constexpr LoopMarker of_checkpoint(std::uint64_t id) {
  return {false, {id}};
}

TEST(LoopMarkerAligner, passes_a_marker_when_all_channels_have_delivered_it) {
  LoopMarkerAligner aligner(2);
  EXPECT_THAT(aligner.on_marker({0}, quiet), IsEmpty());
  EXPECT_THAT(aligner.on_marker({1}, quiet), ElementsAre(quiet));
}

TEST(LoopMarkerAligner, a_marker_is_active_if_that_of_any_channel_is) {
  LoopMarkerAligner aligner(3);
  (void)aligner.on_marker({0}, quiet);
  (void)aligner.on_marker({1}, active);
  EXPECT_THAT(aligner.on_marker({2}, quiet), ElementsAre(active));
}

TEST(LoopMarkerAligner, a_channel_may_be_ahead) {
  LoopMarkerAligner aligner(2);
  (void)aligner.on_marker({0}, active);
  (void)aligner.on_marker({0}, quiet);
  EXPECT_THAT(aligner.on_marker({1}, quiet), ElementsAre(active));
  EXPECT_THAT(aligner.on_marker({1}, quiet), ElementsAre(quiet));
}

TEST(LoopMarkerAligner, nobody_waits_for_a_channel_that_has_ended) {
  LoopMarkerAligner aligner(2);
  (void)aligner.on_marker({0}, quiet);
  (void)aligner.on_marker({0}, active);
  EXPECT_THAT(aligner.on_end_of_input({1}), ElementsAre(quiet, active));
  EXPECT_THAT(aligner.on_marker({0}, quiet), ElementsAre(quiet));
  EXPECT_THAT(aligner.on_end_of_input({0}), IsEmpty());
}

TEST(LoopMarkerAligner, tells_markers_for_checkpoints_from_those_for_the_end) {
  LoopMarkerAligner aligner(2);
  EXPECT_THAT(aligner.on_marker({0}, quiet), IsEmpty());
  EXPECT_THAT(aligner.on_marker({1}, of_checkpoint(1)), IsEmpty());
  EXPECT_THAT(aligner.on_marker({0}, of_checkpoint(1)), ElementsAre(of_checkpoint(1)));
  EXPECT_THAT(aligner.on_marker({1}, active), ElementsAre(active));
}

TEST(LoopMarkerAligner, waits_for_no_marker_of_a_checkpoint_that_a_channel_is_beyond) {
  LoopMarkerAligner aligner(2);
  EXPECT_THAT(aligner.on_marker({0}, of_checkpoint(1)), IsEmpty());
  EXPECT_THAT(aligner.on_marker({1}, of_checkpoint(2)), ElementsAre(of_checkpoint(1)));
  EXPECT_THAT(aligner.on_marker({0}, of_checkpoint(2)), ElementsAre(of_checkpoint(2)));
}

}  // namespace
}  // namespace weir
