#include "state/tag_group.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/random.h"

namespace weir {
namespace {

using Tags = std::array<std::uint8_t, TagGroup::size>;

std::set<std::size_t> all_of(TagGroup::Positions positions) {
  std::set<std::size_t> all;
  for (; positions.any(); positions.drop_first()) all.insert(positions.first());
  return all;
}

// Unused slots, and tags that differ little, next to each other.
Tags random_tags(Random& random) {
  Tags tags{};
  for (std::uint8_t& tag : tags) {
    const auto low = static_cast<std::uint8_t>(random.below(random.below(2) == 0 ? 3 : 128));
    tag = random.below(3) == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(0x80U | low);
  }
  return tags;
}

TEST(TagGroup, knows_which_slots_are_used) {
  Random random(fresh_seed());
  for (int i = 0; i < 10'000; ++i) {
    const Tags tags = random_tags(random);
    std::set<std::size_t> used;
    std::set<std::size_t> unused;
    for (std::size_t at = 0; at < tags.size(); ++at) (tags[at] != 0 ? used : unused).insert(at);
    const auto group = TagGroup::load(tags.data());
    ASSERT_EQ(all_of(group.used()), used);
    ASSERT_EQ(all_of(group.unused()), unused);
    const std::size_t from = random.below(TagGroup::size);
    used.erase(used.begin(), used.lower_bound(from));
    ASSERT_EQ(all_of(group.used().from(from)), used);
  }
}

TEST(TagGroup, finds_every_slot_with_a_tag_and_none_that_is_unused) {
  Random random(fresh_seed());
  for (int i = 0; i < 10'000; ++i) {
    const Tags tags = random_tags(random);
    const auto tag = static_cast<std::uint8_t>(0x80U | random.below(3));
    const auto found = all_of(TagGroup::load(tags.data()).like(tag));
    for (std::size_t at = 0; at < tags.size(); ++at) {
      if (tags[at] == tag) {
        ASSERT_TRUE(found.contains(at));
      }
      if (tags[at] == 0) {
        ASSERT_FALSE(found.contains(at));
      }
    }
  }
}

}  // namespace
}  // namespace weir
