// A directory that a test has for itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace weir {

class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "weir_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  [[nodiscard]] std::string path(std::string_view name = {}) const {
    return name.empty() ? path_ : path_ + '/' + std::string(name);
  }
  // Makes a file, with the directories it is in, and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Names in a directory of it, hidden ones too.
  [[nodiscard]] std::set<std::string> names(std::string_view directory = {}) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path(directory))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

}  // namespace weir
