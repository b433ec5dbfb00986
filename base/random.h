// A small random number generator whose runs repeat from their seed.
#pragma once

#include <cstdint>

namespace weir {

// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled",
// 2016), seeded through splitmix64 so that neighbouring seeds give unrelated runs. Not thread-safe,
// not for secrets. Satisfies std::uniform_random_bit_generator.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }

  // Uniform in [0, bound); requires bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((Wide{(*this)()} * bound) >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static std::uint64_t mixed(std::uint64_t seed) {
    std::uint64_t z = seed + 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return z == 0 ? 1 : z;
  }

  std::uint64_t state_;
};

// A seed that differs between processes, for ids and for tests that then print it.
[[nodiscard]] std::uint64_t fresh_seed();

}  // namespace weir
