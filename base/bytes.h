// Writing and reading flat bytes: the alphabet of every format of the engine, on the wire and on
// disk. Integers are little-endian and of fixed width; texts carry their length before them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace weir {

static_assert(std::endian::native == std::endian::little,
              "weir: formats are little-endian and memory is copied into them as it is");

using Bytes = std::vector<std::byte>;

// What can be copied to and from bytes as it lies in memory.
template <class T>
concept Scalar = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || std::is_enum_v<T>;

// Appends to a vector that the caller owns and that outlives the writer.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <Scalar T>
  void scalar(T value) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out_.insert(out_.end(), raw, raw + sizeof(T));
  }
  // The bytes alone, without their length.
  void bytes(std::span<const std::byte> raw) { out_.insert(out_.end(), raw.begin(), raw.end()); }
  // A length or count, as 32 bits. Requires count < 2^32.
  void count(std::size_t count) {
    WEIR_CHECK(count <= std::numeric_limits<std::uint32_t>::max());
    scalar(static_cast<std::uint32_t>(count));
  }
  // The length, then the characters.
  void text(std::string_view text) {
    count(text.size());
    bytes(std::as_bytes(std::span(text)));
  }
  // The length, then the bytes; the counterpart of ByteReader::block.
  void block(std::span<const std::byte> raw) {
    count(raw.size());
    bytes(raw);
  }

  // Makes room for `more` bytes. Grows geometrically, so that calling it per record stays linear.
  void reserve(std::size_t more);
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  // For lengths that are known only after what they measure. Requires position + 4 <= size().
  void overwrite_u32(std::size_t position, std::uint32_t value);

 private:
  Bytes& out_;
};

// Reads what ByteWriter wrote, out of bytes that the caller owns and that may be damaged.
//
// Failures stick: the first one is kept, and from then on every read returns zero or nothing. So a
// decoder reads field after field without looking, and asks ok() or status() once at the end; only
// what it allocates or loops over must be bounded by remaining(), which is 0 after a failure.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in)
      : begin_(in.data()), at_(in.data()), end_(in.data() + in.size()) {}

  template <Scalar T>
  [[nodiscard]] T scalar() {
    T value{};
    if (remaining() < sizeof(T)) [[unlikely]] {
      fail_for_lack_of(sizeof(T));
    } else {
      std::memcpy(&value, at_, sizeof(T));
      at_ += sizeof(T);
    }
    return value;
  }
  // A count of things of which each takes at least `least_bytes` > 0 of what remains, so a damaged
  // count cannot make the caller allocate out of proportion.
  [[nodiscard]] std::size_t count(std::size_t least_bytes);
  // Views into the input, empty after a failure.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t size);
  [[nodiscard]] std::span<const std::byte> block() { return bytes(count(1)); }
  [[nodiscard]] std::string_view text();

  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

  // For decoders: what was read makes no sense; `expected` says what would have.
  void fail(std::string_view expected);
  // Takes over a failure of another decoder.
  void fail(Error error);

  [[nodiscard]] bool ok() const { return ok_; }
  // Errc::corrupt_data, with what was expected at which byte. Requires !ok().
  [[nodiscard]] const Error& error() const {
    WEIR_CHECK(!ok_);
    return error_;
  }
  [[nodiscard]] Result<void> status() const {
    if (ok_) return {};
    return error_;
  }

 private:
  void fail_for_lack_of(std::size_t bytes);

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
  Error error_{Errc::corrupt_data, {}};  // meaningful once !ok_
};

}  // namespace weir
