// The owner of a file descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace weir {

// Closes what it holds. Not thread-safe.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes over `fd`; a negative one is none.
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // -1 if none.
  [[nodiscard]] int get() const { return fd_; }
  // Hands it over to the caller.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  // What close(2) returns, 0 if there was none: network file systems report failed writes here.
  int close() { return fd_ >= 0 ? ::close(std::exchange(fd_, -1)) : 0; }

 private:
  int fd_ = -1;
};

// None if that fails, with the reason in errno.
[[nodiscard]] inline FileDescriptor open_to_read(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace weir
