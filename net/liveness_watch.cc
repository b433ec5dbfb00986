#include "net/liveness_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/system_error.h"
#include "net/child_processes.h"

namespace weir {

FileDescriptor take_liveness_pipe() {
  const char* variable = std::getenv(liveness_variable);
  if (variable == nullptr) return {};
  const std::string_view text = variable;
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  const bool valid = error == std::errc{} && end == text.data() + text.size() && fd >= 0 &&
                     ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
  ::unsetenv(liveness_variable);
  return FileDescriptor(valid ? fd : -1);
}

class LivenessWatch::Impl {
 public:
  Impl(FileDescriptor pipe, FileDescriptor stop, std::function<void()> on_end)
      : pipe_(std::move(pipe)), stop_(std::move(stop)), on_end_(std::move(on_end)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    const std::uint64_t one = 1;
    WEIR_CHECK(::write(stop_.get(), &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }

 private:
  void run() {
    std::array<pollfd, 2> watched{{{stop_.get(), POLLIN, 0}, {pipe_.get(), 0, 0}}};
    int ready = 0;
    do {
      ready = ::poll(watched.data(), watched.size(), -1);
    } while (ready < 0);
    if (watched[0].revents == 0) on_end_();
  }

  const FileDescriptor pipe_;
  const FileDescriptor stop_;  // eventfd
  const std::function<void()> on_end_;
  std::thread thread_;
};

Result<std::unique_ptr<LivenessWatch>> LivenessWatch::create(FileDescriptor pipe,
                                                             std::function<void()> on_end) {
  WEIR_CHECK(pipe.is_open());
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.is_open()) return system_error("cannot watch the parent process", errno);
  try {
    auto impl = std::make_unique<Impl>(std::move(pipe), std::move(stop), std::move(on_end));
    return std::unique_ptr<LivenessWatch>(new LivenessWatch(std::move(impl)));
  } catch (const std::system_error& e) {
    return system_error("cannot watch the parent process: no thread", e.code().value());
  }
}

LivenessWatch::LivenessWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LivenessWatch::~LivenessWatch() = default;

}  // namespace weir
