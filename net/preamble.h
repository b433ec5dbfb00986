// What is said first on every connection, by both sides: that this is Weir, which version, what for, and that the
// speaker knows the cluster's secret. Nothing else is read before it has been checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

// Raised with every change of frames or messages.
inline constexpr std::uint16_t wire_version = 1;

// What a connection is used for after the preamble.
enum class ConnectionPurpose : std::uint8_t { control = 1, data = 2 };

// Proof of membership: the first bytes of the SHA-256 of the cluster's secret, or zeros for a cluster without one.
struct ClusterToken {
  std::array<std::byte, 24> bytes{};
  friend bool operator==(const ClusterToken&,
                         const ClusterToken&) = default;  // not for checking what strangers send
};

// The token of a secret of any length; surrounding white space does not count. Fails if fewer than 16 bytes are left.
[[nodiscard]] Result<ClusterToken> token_of_secret(std::string_view secret);
// Errc::bad_option naming the file, if it cannot be read or its content is too short.
[[nodiscard]] Result<ClusterToken> read_secret_file(const std::string& path);
// A sentence for people, with what to do, if others than its owner can get at the file.
[[nodiscard]] std::optional<std::string> find_secret_readers(const std::string& path);

//   byte 0–3  "WEIR"    4–5  wire_version, little-endian    6  purpose    7  zero    8–31  token
inline constexpr std::size_t preamble_bytes = 32;
using Preamble = std::array<std::byte, preamble_bytes>;
[[nodiscard]] Preamble make_preamble(ConnectionPurpose purpose, const ClusterToken& token);

enum class PreambleVerdict : std::uint8_t {
  incomplete,
  accepted,
  not_weir,
  wrong_version,
  wrong_purpose,
  wrong_token
};

// Judges what has come so far (at most preamble_bytes of it), as soon as it is certain: a stranger is refused at the first
// byte that differs from "WEIR". Compares tokens in constant time.
[[nodiscard]] PreambleVerdict check_preamble(std::span<const std::byte> received,
                                             ConnectionPurpose purpose, const ClusterToken& token);
// For a log line: "is no Weir peer", "speaks wire version 7, this is 1" (from what was received) …
[[nodiscard]] std::string explain(PreambleVerdict verdict, std::span<const std::byte> received);

}  // namespace weir
