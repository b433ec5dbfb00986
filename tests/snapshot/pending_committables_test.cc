#include "snapshot/pending_committables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/snapshot/frozen_states.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

OperatorCommittables of(const std::string& name, const std::vector<std::string>& texts) {
  OperatorCommittables all{.operator_name = name};
  for (const std::string& text : texts) all.committables.push_back(bytes_of(text));
  return all;
}

TEST(PendingCommittables, of_an_aborted_checkpoint_go_into_the_next) {
  PendingCommittables pending;
  pending.add({1}, "out", {bytes_of("a")});
  pending.add({2}, "out", {bytes_of("b"), bytes_of("c")});
  EXPECT_THAT(pending.all(), ElementsAre(of("out", {"a", "b", "c"})));
}

TEST(PendingCommittables, of_a_completed_checkpoint_and_older_ones_are_forgotten) {
  PendingCommittables pending;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    pending.add({id}, "out", {bytes_of(std::to_string(id))});
  }
  pending.on_complete({2});
  EXPECT_THAT(pending.all(), ElementsAre(of("out", {"3"})));
  pending.on_complete({5});
  EXPECT_THAT(pending.all(), IsEmpty());
}

TEST(PendingCommittables, are_told_apart_by_operator) {
  PendingCommittables pending;
  pending.add({1}, "out", {bytes_of("a")});
  pending.add({1}, "side", {bytes_of("b")});
  pending.add({2}, "side", {});
  pending.add({2}, "out", {bytes_of("c")});
  EXPECT_THAT(pending.all(), ElementsAre(of("out", {"a", "c"}), of("side", {"b"})));
}

}  // namespace
}  // namespace weir
