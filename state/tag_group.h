// Tags of a hash table, eight at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {

// Eight neighbouring tags, in one word. A tag is 0 where the slot is not used; else its top bit is set.
class TagGroup {
 public:
  static constexpr std::size_t size = 8;

  // Some of the eight positions.
  class Positions {
   public:
    explicit Positions(std::uint64_t top_bits) : bits_(top_bits) {}

    [[nodiscard]] bool any() const { return bits_ != 0; }
    // Requires any().
    [[nodiscard]] std::size_t first() const {
      return static_cast<std::size_t>(std::countr_zero(bits_)) / 8;
    }
    void drop_first() { bits_ &= bits_ - 1; }
    // Without those before `position`, which is below 8.
    [[nodiscard]] Positions from(std::size_t position) const {
      return Positions(bits_ & (~std::uint64_t{0} << (8 * position)));
    }

   private:
    std::uint64_t bits_;  // of a position's byte only the top one
  };

  [[nodiscard]] static TagGroup load(const std::uint8_t* tags) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, tags, sizeof word);
    return TagGroup(word);
  }

  // All that have the tag, whose top bit is set, and perhaps others, all of used slots: where the
  // subtraction borrows, a tag counts that differs in the lowest bit only.
  [[nodiscard]] Positions like(std::uint8_t tag) const {
    const std::uint64_t difference = word_ ^ (ones * tag);
    return Positions((difference - ones) & ~difference & top_bits);
  }
  [[nodiscard]] Positions used() const { return Positions(word_ & top_bits); }
  [[nodiscard]] Positions unused() const { return Positions(~word_ & top_bits); }

 private:
  static constexpr std::uint64_t ones = 0x0101010101010101;
  static constexpr std::uint64_t top_bits = ones << 7;

  explicit TagGroup(std::uint64_t word) : word_(word) {}

  std::uint64_t word_;
};

}  // namespace weir
