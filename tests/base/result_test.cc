#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weir {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{Errc::bad_record, "odd"};
  return number / 2;
}

Result<void> require_multiple_of_four(int number) {
  WEIR_TRY(half(number));
  WEIR_TRY(half(number / 2));
  return {};
}

TEST(Result, holds_the_value_it_was_made_from) {
  const Result<int> result = half(8);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 4);
}

TEST(Result, holds_the_error_it_was_made_from) {
  const Result<int> result = half(7);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), (Error{Errc::bad_record, "odd"}));
}

TEST(Result, gives_its_value_away_by_move) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

TEST(Result, lets_its_value_be_changed_in_place) {
  Result<std::string> result = std::string("we");
  result->append("ir");
  EXPECT_EQ(result.value(), "weir");
}

TEST(Result, tells_a_value_of_type_string_from_an_error_with_that_message) {
  EXPECT_TRUE(Result<std::string>("odd"));
  EXPECT_FALSE(Result<std::string>(Error{Errc::bad_record, "odd"}));
}

TEST(Result, without_a_type_is_a_success_by_default) {
  const Result<void> result;
  EXPECT_TRUE(result.has_value());
  result.value();
}

TEST(Result, try_passes_the_first_error_on_and_else_continues) {
  EXPECT_TRUE(require_multiple_of_four(8));
  const Result<void> failed = require_multiple_of_four(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::bad_record);
}

TEST(ResultDeathTest, asking_an_error_for_its_value_ends_the_process) {
  EXPECT_DEATH((void)half(7).value(), "check failed: has_value");
}

TEST(ResultDeathTest, asking_a_value_for_its_error_ends_the_process) {
  EXPECT_DEATH((void)half(8).error(), "check failed: !has_value");
}

}  // namespace
}  // namespace weir
