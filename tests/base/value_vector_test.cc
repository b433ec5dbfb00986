#include "base/value_vector.h"

#include <gtest/gtest.h>

#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/random.h"

namespace weir {
namespace {

TEST(BoolVector, does_what_a_vector_does) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BoolVector bools;
    std::vector<char> model;
    for (int step = 0; step < 100; ++step) {
      const bool value = random.below(2) == 0;
      switch (random.below(7)) {
        case 0: {
          const BoolVector more{value, !value, value};
          bools.insert(bools.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
          model.insert(model.end(), more.begin(), more.end());
          break;
        }
        case 1: {
          const std::size_t size = random.below(40);
          bools.resize(size, value);
          model.resize(size, static_cast<char>(value));
          break;
        }
        case 2: {
          const auto first = static_cast<std::ptrdiff_t>(random.below(model.size() + 1));
          bools.erase(bools.begin(), bools.begin() + first);
          model.erase(model.begin(), model.begin() + first);
          break;
        }
        case 3: {
          BoolVector copy = bools;
          copy.push_back(value);
          bools = std::move(copy);
          model.push_back(static_cast<char>(value));
          break;
        }
        case 4:
          if (random.below(10) == 0) {
            bools.clear();
            model.clear();
          }
          break;
        default:
          bools.emplace_back() = value;
          model.push_back(static_cast<char>(value));
      }
      ASSERT_EQ(std::vector<char>(bools.begin(), bools.end()), model);
      ASSERT_EQ(bools.empty(), model.empty());
    }
  }
}

TEST(BoolVector, is_encoded_as_the_vector_of_the_library) {
  const BoolVector bools{true, false, true};
  const Bytes bytes = to_bytes(bools);
  EXPECT_EQ(bytes, to_bytes(std::vector<bool>{true, false, true}));
  EXPECT_EQ(*from_bytes<BoolVector>(bytes), bools);
  EXPECT_EQ(schema_of<BoolVector>(), schema_of<std::vector<bool>>());
}

TEST(BoolVector, a_span_can_refer_to_it) {
  BoolVector bools{true, false};
  const std::span<bool> span(bools);
  span[1] = true;
  EXPECT_EQ(bools, (BoolVector{true, true}));
}

}  // namespace
}  // namespace weir
