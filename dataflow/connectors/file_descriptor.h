// Owns an open file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace weir {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes what open(2) returned; -1 is none.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (is_open()) ::close(fd_);
  }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  // What close(2) returns: network file systems report failed writes here. Requires is_open().
  [[nodiscard]] int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

[[nodiscard]] inline FileDescriptor open_to_read(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// The system's reason for the last failure of this thread: "No such file or directory".
[[nodiscard]] inline std::string last_system_reason() {
  return std::error_code(errno, std::system_category()).message();
}

}  // namespace weir
