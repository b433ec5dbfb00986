// Which files a user means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool is_gzip = false;  // named .gz and begins like gzip data
  friend bool operator==(const InputFile&, const InputFile&) = default;
};

// The regular files that the patterns mean, each once, and each seen to be readable.
//
// A pattern is a path or a glob(7). A directory means its files, without hidden ones and without
// those of its subdirectories. Files come in the order of the patterns, those of one pattern sorted
// by path.
// Fails with Errc::input_missing if a pattern means no file, and with Errc::input_unreadable.
[[nodiscard]] Result<std::vector<InputFile>> list_input_files(
    const std::vector<std::string>& patterns);

// The parts between commas, without empty ones.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view patterns);

}  // namespace weir
