#include "dataflow/runtime/batch_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/limits.h"

namespace weir {
namespace {

std::shared_ptr<Batch<int>> used_batch(std::size_t rows = 100) {
  auto batch = std::make_shared<Batch<int>>();
  batch->values.resize(rows);
  return batch;
}

TEST(BatchPool, gives_back_what_was_put_empty_and_by_type) {
  BatchPool pool;
  auto batch = used_batch();
  const AnyBatch* const address = batch.get();
  pool.put(std::move(batch));
  EXPECT_NE(pool.get(batch_type_of<std::string>()).get(), address);
  const BatchPtr reused = pool.get(batch_type_of<int>());
  EXPECT_EQ(reused.get(), address);
  EXPECT_EQ(reused->size(), 0U);
}

TEST(BatchPool, drops_batches_that_others_hold) {
  BatchPool pool;
  const auto batch = used_batch();
  pool.put(batch);
  EXPECT_EQ(batch->size(), 100U);
  EXPECT_NE(pool.get(batch_type_of<int>()), batch);
}

TEST(BatchPool, drops_batches_that_grew_too_large) {
  BatchPool pool;
  pool.put(used_batch(limits::batch_bytes_max));
  EXPECT_EQ(batch_cast<int>(*pool.get(batch_type_of<int>())).values.capacity(), 0U);
}

TEST(BatchPool, keeps_a_bounded_number) {
  BatchPool pool;
  for (std::size_t i = 0; i < 2 * limits::pooled_batches_max; ++i) pool.put(used_batch());
  std::size_t kept = 0;
  while (batch_cast<int>(*pool.get(batch_type_of<int>())).values.capacity() > 0) ++kept;
  EXPECT_EQ(kept, limits::pooled_batches_max);
}

}  // namespace
}  // namespace weir
