#include "dataflow/output.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(Output, is_full_by_rows) {
  Output<int> output;
  for (std::size_t i = 0; i < limits::batch_rows_max; ++i) {
    EXPECT_FALSE(output.full());
    output.push(1);
  }
  EXPECT_TRUE(output.full());
  EXPECT_EQ(output.take()->size(), limits::batch_rows_max);
  EXPECT_FALSE(output.full());
}

TEST(Output, is_full_by_bytes_on_the_heap) {
  Output<std::string> output;
  for (int pushed = 0; !output.full(); ++pushed) {
    ASSERT_LT(pushed, 4);
    output.push(std::string(limits::batch_bytes_max / 3, 'x'));
  }
  EXPECT_EQ(output.take()->size(), 3U);
  EXPECT_FALSE(output.full());
}

TEST(Output, large_records_fill_it_with_fewer_rows) {
  struct Large {
    char bytes[limits::batch_bytes_max];
  };
  EXPECT_EQ(Output<Large>::rows_max, 1U);
  struct Medium {
    char bytes[limits::batch_bytes_max / 10];
  };
  EXPECT_EQ(Output<Medium>::rows_max, 10U);
}

TEST(Output, records_with_and_without_time_may_mix) {
  Output<int> output;
  output.push(1);
  output.push(2, EventTime{20});
  output.push(3);
  const BatchPtr batch = output.take();
  EXPECT_EQ(batch->times, (std::vector<EventTime>{no_timestamp, {20}, no_timestamp}));
}

TEST(Output, records_without_time_need_no_column_for_it) {
  Output<int> output;
  output.push(1, no_timestamp);
  output.push(2);
  EXPECT_TRUE(output.take()->times.empty());
}

TEST(Output, rows_pushed_with_and_without_kind_may_mix) {
  Output<int> output;
  output.push(1);
  output.push(2, EventTime{20}, RowKind::remove);
  output.push(3, no_timestamp, RowKind::insert);
  output.push_made([] { return 4; });
  output.push(5, EventTime{50}, RowKind::update_after);
  output.push(6);
  const BatchPtr batch = output.take();
  EXPECT_EQ(batch->kinds, (std::vector{RowKind::insert, RowKind::remove, RowKind::insert,
                                       RowKind::insert, RowKind::update_after, RowKind::insert}));
  EXPECT_EQ(batch->times, (std::vector<EventTime>{
                              no_timestamp, {20}, no_timestamp, no_timestamp, {50}, no_timestamp}));
}

TEST(Output, inserts_need_no_column_for_their_kind) {
  Output<int> output;
  output.push(1, no_timestamp, RowKind::insert);
  EXPECT_TRUE(output.take()->kinds.empty());
}

TEST(Output, forwards_a_batch_untouched_and_goes_on_with_its_own) {
  Output<int> output;
  output.reuse(batch_type_of<int>().make());
  const auto whole = std::make_shared<Batch<int>>();
  whole->values = {1, 2};
  const AnyBatch* const address = whole.get();
  output.forward(whole);
  EXPECT_EQ(output.take().get(), address);
  EXPECT_FALSE(output.wants_batch());
  output.push(3);
  EXPECT_EQ(output.take()->size(), 1U);
  EXPECT_EQ(output.take(), nullptr);
}

}  // namespace
}  // namespace weir
