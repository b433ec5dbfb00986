#include "actors/printable.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Printable, leaves_what_people_can_read) {
  EXPECT_EQ(printable("lines → words, größer"), "lines → words, größer");
}

TEST(Printable, escapes_what_would_move_the_cursor_or_change_colours) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\td\x7f"), "a\\x1b[31mb\\nc\\td\\x7f");
}

TEST(Printable, escapes_what_a_terminal_takes_for_a_control_sequence_of_one_character) {
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\xc2\\x9b31m");
}

TEST(Printable, lines_keep_their_ends_and_tabs) {
  EXPECT_EQ(printable_lines("first\n\tsecond\r\x07"), "first\n\tsecond\\r\\x07");
}

TEST(Printable, long_names_are_cut_between_characters) {
  EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to("abcdefg", 6), "abc…fg");
  EXPECT_EQ(cut_to("äöüäöüä", 6), "äöü…üä");
  EXPECT_EQ(cut_to("abc", 1), "…");
}

}  // namespace
}  // namespace weir
