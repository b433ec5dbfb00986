// What tests that damage bytes at random share.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "base/bytes.h"
#include "base/random.h"

namespace weir {

// How long they go on: a second, or what WEIR_FUZZ_SECONDS says.
[[nodiscard]] inline std::chrono::seconds fuzz_time() {
  const char* text = std::getenv("WEIR_FUZZ_SECONDS");
  return std::chrono::seconds(text == nullptr ? 1 : std::atoi(text));
}

// Another one each time, which is printed, or WEIR_FUZZ_SEED.
[[nodiscard]] inline std::uint64_t fuzz_seed() {
  const char* given = std::getenv("WEIR_FUZZ_SEED");
  const std::uint64_t seed = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 10);
  std::cout << "seed " << seed << '\n';
  return seed;
}

inline void damage_somewhere(Bytes& bytes, Random& random) {
  const std::uint64_t places = 1 + random.below(4);
  for (std::uint64_t i = 0; i < places && !bytes.empty(); ++i) {
    bytes[random.below(bytes.size())] = static_cast<std::byte>(random());
  }
}

}  // namespace weir
