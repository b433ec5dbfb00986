// Reading the bytes of an input file from front to back, decompressed if need be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace weir {

// Not thread-safe. Errors name the file.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `into`, which is not empty, unless the stream ends before: then with what there is.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> into) = 0;
  // How far the file itself has been read, in its own bytes.
  [[nodiscard]] virtual std::uint64_t file_position() const = 0;
};

// The file from `offset` on.
[[nodiscard]] Result<std::unique_ptr<ByteStream>> open_file(const std::string& path,
                                                            std::uint64_t offset);

// What the file's gzip members contain, one after the other. It is an error if the last is cut off.
[[nodiscard]] Result<std::unique_ptr<ByteStream>> open_gzip_file(const std::string& path);

}  // namespace weir
