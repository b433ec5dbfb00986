#include "state/value_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir {
namespace {

using Access = MemoryValueAccess<std::string, int>;

// A state of string keys, as an operator binds it.
struct Bound {
  CurrentKey<std::string> current;
  ValueState<int> state;

  Bound() { state.bind(std::make_shared<Access>(KeyGroupSlice{{{0}, 128}, 128}, current)); }
  ValueState<int>& of(const std::string& key) {
    current = {key, hash_of(key)};
    return state;
  }
};

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

TEST(ValueStateDeathTest, outside_a_keyed_operator_there_is_no_state) {
  const ValueState<int> unbound;
  EXPECT_DEATH((void)unbound.get(), "check failed");
}

}  // namespace
}  // namespace weir
