#include "base/memory_limit.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(MemoryLimit, is_what_was_set) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const rlim_t plenty = rlim_t{64} << 30U;
  rlimit limited = before;
  limited.rlim_cur = plenty;
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &limited), 0);
  EXPECT_EQ(memory_limit_bytes(), plenty);
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &before), 0);
  if (before.rlim_cur == RLIM_INFINITY) {
    EXPECT_FALSE(memory_limit_bytes());
  }
}

}  // namespace
}  // namespace weir
