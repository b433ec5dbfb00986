#include "base/bytes.h"

#include <algorithm>

namespace weir {

void ByteWriter::reserve(std::size_t more) {
  const std::size_t needed = out_.size() + more;
  if (needed > out_.capacity()) out_.reserve(std::max(needed, 2 * out_.capacity()));
}

void ByteWriter::overwrite_u32(std::size_t position, std::uint32_t value) {
  WEIR_CHECK(position + sizeof value <= out_.size());
  std::memcpy(out_.data() + position, &value, sizeof value);
}

std::size_t ByteReader::count(std::size_t least_bytes) {
  WEIR_CHECK(least_bytes > 0);
  const std::size_t count = scalar<std::uint32_t>();
  if (count <= remaining() / least_bytes) return count;
  fail("a count of at most " + std::to_string(remaining() / least_bytes) + ", not " +
       std::to_string(count));
  return 0;
}

std::span<const std::byte> ByteReader::bytes(std::size_t size) {
  if (remaining() < size) {
    fail_for_lack_of(size);
    return {};
  }
  const std::span<const std::byte> result(at_, size);
  at_ += size;
  return result;
}

std::string_view ByteReader::text() {
  const std::span<const std::byte> raw = block();
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

void ByteReader::fail(std::string_view expected) {
  fail(Error{Errc::corrupt_data, "damaged data at byte " + std::to_string(at_ - begin_) +
                                     ": expected " + std::string(expected)});
}

void ByteReader::fail(Error error) {
  if (!ok_) return;
  ok_ = false;
  error_ = std::move(error);
  at_ = end_;
}

void ByteReader::fail_for_lack_of(std::size_t bytes) {
  fail(std::to_string(bytes) + " more bytes, but " + std::to_string(remaining()) + " remain");
}

}  // namespace weir
