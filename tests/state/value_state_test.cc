#include "state/value_state.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/state/bound_states.h"

namespace weir {
namespace {

using Bound = BoundState<ValueState<int>>;

TEST(ValueState, belongs_to_the_current_key) {
  Bound bound;
  bound.of("a").set(1);
  EXPECT_EQ(bound.of("b").get(), nullptr);
  EXPECT_EQ(bound.of("b").value_or(7), 7);
  bound.of("b").set(2);
  EXPECT_EQ(*bound.of("a").get(), 1);
  EXPECT_EQ(bound.of("b").value_or(7), 2);
}

TEST(ValueState, update_begins_with_the_default_value) {
  Bound bound;
  ++bound.of("a").update();
  ++bound.of("a").update();
  EXPECT_EQ(*bound.of("a").get(), 2);
}

TEST(ValueState, clear_removes_the_value_of_the_current_key_alone) {
  Bound bound;
  bound.of("a").set(1);
  bound.of("b").set(2);
  bound.of("a").clear();
  bound.of("a").clear();
  EXPECT_EQ(bound.of("a").get(), nullptr);
  EXPECT_EQ(*bound.of("b").get(), 2);
}

TEST(ValueState, is_restored_for_each_key) {
  Bound bound;
  for (int i = 0; i < 500; ++i) bound.of(std::to_string(i)).set(i);
  Bound restored({}, bound.snapshot());
  ASSERT_TRUE(restored.bound());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(restored.of(std::to_string(i)).value_or(-1), i);
  EXPECT_EQ(restored.of("another").get(), nullptr);
}

TEST(ValueState, of_a_record_without_key_is_an_exception) {
  Bound bound;
  ValueState<int>& state = bound.of("a");
  bound.without_key();
  EXPECT_THROW((void)state.get(), std::logic_error);
  EXPECT_THROW(state.set(1), std::logic_error);
}

TEST(ValueStateDeathTest, outside_a_keyed_operator_there_is_no_state) {
  const ValueState<int> unbound;
  EXPECT_DEATH((void)unbound.get(), "check failed");
}

}  // namespace
}  // namespace weir
