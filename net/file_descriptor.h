// The owner of a file descriptor.
#pragma once

#include <unistd.h>

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
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace weir
