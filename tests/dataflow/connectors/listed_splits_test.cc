#include "dataflow/connectors/listed_splits.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

std::unique_ptr<SplitEnumerator> splits_for(std::size_t count, std::uint32_t readers) {
  auto enumerator = enumerate_list([count](std::uint32_t) -> Result<SplitList> {
    SplitList list;
    for (std::size_t i = 0; i < count; ++i)
      list.splits.push_back({"split " + std::to_string(i), {}});
    return list;
  });
  EXPECT_TRUE(enumerator->open(readers).has_value());
  return enumerator;
}

std::string ask(SplitEnumerator& enumerator, std::uint32_t reader) {
  const Assignment answer = *enumerator.next({reader});
  if (const auto* split = std::get_if<Split>(&answer)) return split->id;
  return std::holds_alternative<NoSplitYet>(answer) ? "later" : "none";
}

TEST(ListedSplits, are_handed_out_in_their_order) {
  const auto enumerator = splits_for(3, 1);
  EXPECT_EQ(ask(*enumerator, 0), "split 0");
  EXPECT_EQ(ask(*enumerator, 0), "split 1");
  EXPECT_EQ(ask(*enumerator, 0), "split 2");
  EXPECT_EQ(ask(*enumerator, 0), "none");
}

TEST(ListedSplits, keep_two_for_each_reader_that_is_not_up_yet) {
  const auto enumerator = splits_for(9, 4);
  for (const char* expected : {"split 0", "split 1", "split 2", "later"})
    EXPECT_EQ(ask(*enumerator, 0), expected);
  for (const std::uint32_t reader : {1U, 2U, 3U}) {
    EXPECT_NE(ask(*enumerator, reader), "later");
    EXPECT_NE(ask(*enumerator, reader), "later");
  }
  EXPECT_EQ(ask(*enumerator, 0), "none");
}

TEST(ListedSplits, keep_one_where_there_are_not_two_for_all) {
  const auto enumerator = splits_for(3, 2);
  EXPECT_EQ(ask(*enumerator, 0), "split 0");
  EXPECT_EQ(ask(*enumerator, 0), "split 1");
  EXPECT_EQ(ask(*enumerator, 0), "later");
  EXPECT_EQ(ask(*enumerator, 1), "split 2");
  EXPECT_EQ(ask(*enumerator, 0), "none");
}

TEST(ListedSplits, of_which_there_are_too_few_go_to_who_asks_first) {
  const auto enumerator = splits_for(1, 2);
  EXPECT_EQ(ask(*enumerator, 1), "split 0");
  EXPECT_EQ(ask(*enumerator, 1), "none");
  EXPECT_EQ(ask(*enumerator, 0), "none");
}

}  // namespace
}  // namespace weir
