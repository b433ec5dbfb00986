// What guards the bytes of a checkpoint against damage: XXH3, 64 bits, seed 0. Part of the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes);
// Of the one behind the other.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> first,
                                        std::span<const std::byte> second);

}  // namespace weir
