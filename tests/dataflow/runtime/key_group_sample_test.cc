#include "dataflow/runtime/key_group_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

// A hash of the key group, of 128.
KeyHash hash_in(std::uint32_t group) {
  return KeyHash{group} << 57;
}

TEST(KeyGroupSample, finds_the_group_with_most_records_across_batches_of_any_size) {
  KeyGroupSample sample(128);
  std::uint32_t row = 0;
  for (const std::size_t size : {1U, 60U, 61U, 62U, 4'096U, 4'096U, 4'096U}) {
    std::vector<KeyHash> hashes;
    for (std::size_t i = 0; i < size; ++i, ++row)
      hashes.push_back(hash_in(row % 4 == 0 ? row % 128 : 77));
    sample.add(hashes);
  }
  EXPECT_EQ(sample.records(), (row + KeyGroupSample::stride - 1) / KeyGroupSample::stride);
  EXPECT_EQ(sample.largest(), KeyGroup{77});
  const double share =
      static_cast<double>(sample.records_of_largest()) / static_cast<double>(sample.records());
  EXPECT_NEAR(share, 0.75, 0.1);
}

TEST(KeyGroupSample, of_an_exchange_without_keys_counts_nothing) {
  KeyGroupSample sample;
  sample.add(std::vector<KeyHash>(1'000, 5));
  EXPECT_EQ(sample.records(), 0U);
  EXPECT_EQ(sample.records_of_largest(), 0U);
}

}  // namespace
}  // namespace weir
