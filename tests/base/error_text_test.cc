#include "base/error_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::EndsWith;

TEST(ErrorText, of_usual_length_stays_as_it_is) {
  const Error error{Errc::user_code, std::string(error_text_bytes_max, 'x')};
  EXPECT_EQ(shortened(error), error);
}

TEST(ErrorText, that_is_longer_loses_its_end_and_says_how_much) {
  const Error error = shortened({Errc::user_code, std::string(error_text_bytes_max + 5, 'x')});
  EXPECT_EQ(error.code, Errc::user_code);
  EXPECT_THAT(error.message, EndsWith("xx… (5 bytes more)"));
}

TEST(ErrorText, is_not_cut_within_a_character) {
  std::string text = "x";
  while (text.size() < 2 * error_text_bytes_max) text += "ä";
  EXPECT_THAT(shortened({Errc::user_code, text}).message.substr(0, error_text_bytes_max + 10),
              testing::HasSubstr("ää… ("));
}

TEST(ErrorText, of_continuation_bytes_alone_ends_somewhere) {
  const Error error = shortened({Errc::user_code, std::string(2 * error_text_bytes_max, '\x80')});
  EXPECT_LT(error.message.size(), 100U);
}

}  // namespace
}  // namespace weir
