#include "actors/pending_commits.h"

#include <gtest/gtest.h>

#include "base/codec.h"

namespace weir {
namespace {

constexpr NodeId sink{3};

std::vector<Committable> one(int number) {
  return {{to_bytes(number)}};
}

TEST(PendingCommits, of_a_checkpoint_that_was_given_up_go_with_the_next) {
  PendingCommits pending;
  pending.add(sink, {1}, one(1));
  pending.add(sink, {2}, one(2));
  pending.add(sink, {3}, one(3));
  EXPECT_EQ(pending.up_to(sink, {2}).size(), 2U);
  EXPECT_EQ(pending.up_to(sink, {2}), pending.up_to(sink, {2})) << "nothing is forgotten";
}

TEST(PendingCommits, that_are_visible_are_forgotten_and_later_ones_stay) {
  PendingCommits pending;
  pending.add(sink, {1}, one(1));
  pending.add(sink, {2}, one(2));
  pending.on_committed(sink, {1});
  EXPECT_EQ(pending.up_to(sink, {9}), one(2));
}

TEST(PendingCommits, that_are_visible_are_covered_by_the_checkpoint_of_the_last_of_them) {
  PendingCommits pending;
  EXPECT_EQ(pending.visible_up_to(sink), CheckpointId{0});
  pending.add(sink, {1}, one(1));
  pending.add(sink, {3}, one(3));
  pending.add(sink, {4}, {});
  pending.on_committed(sink, {4});
  EXPECT_EQ(pending.visible_up_to(sink), CheckpointId{3});
  pending.forget(sink);
  EXPECT_EQ(pending.visible_up_to(sink), CheckpointId{3}) << "it stays visible";
}

TEST(PendingCommits, of_a_region_that_begins_again_are_forgotten) {
  PendingCommits pending;
  pending.add(sink, {1}, one(1));
  pending.add({4}, {1}, one(4));
  pending.forget(sink);
  EXPECT_TRUE(pending.up_to(sink, {9}).empty());
  EXPECT_EQ(pending.up_to({4}, {9}), one(4));
}

TEST(PendingCommits, know_how_much_a_sink_has_to_commit) {
  PendingCommits pending;
  EXPECT_EQ(pending.bytes_of(sink), 0U);
  pending.add(sink, {1}, {{Bytes(100)}});
  pending.add(sink, {2}, {{Bytes(20)}, {Bytes(3)}});
  pending.add({4}, {1}, {{Bytes(1'000)}});
  EXPECT_EQ(pending.bytes_of(sink), 123U + 3 * 4);
  pending.on_committed(sink, {1});
  EXPECT_EQ(pending.bytes_of(sink), 23U + 2 * 4);
}

}  // namespace
}  // namespace weir
