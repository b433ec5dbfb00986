// Data planes that talk over loopback, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "net/tcp_data_plane.h"

namespace weir {

// Far longer than anything takes; a test that waits so long has failed.
inline constexpr std::chrono::seconds patience{30};

// Remembers what it is told. Thread-safe.
class Recorder final : public DataReceiver {
 public:
  void on_element(HostIndex from, ElementFrame element) override {
    if (before_element) before_element();
    change([&] { elements_[from].push_back(std::move(element)); });
  }
  void on_credit(HostIndex from, CreditFrame credit) override {
    change([&] { credits_[from].push_back(credit); });
  }
  void on_peer_lost(HostIndex host, Error error) override {
    change([&] { lost_.emplace_back(host, std::move(error)); });
  }

  // Waits until there are so many; what has come then.
  std::vector<ElementFrame> elements(HostIndex from, std::size_t count) {
    std::unique_lock lock(mutex_);
    return wait(lock, elements_[from], count);
  }
  std::vector<CreditFrame> credits(HostIndex from, std::size_t count) {
    std::unique_lock lock(mutex_);
    return wait(lock, credits_[from], count);
  }
  std::vector<std::pair<HostIndex, Error>> lost(std::size_t count) {
    std::unique_lock lock(mutex_);
    return wait(lock, lost_, count);
  }

  std::function<void()> before_element;  // set before the plane starts

 private:
  void change(const std::function<void()>& action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }
  template <class List>
  List wait(std::unique_lock<std::mutex>& lock, const List& list, std::size_t count) {
    EXPECT_TRUE(changed_.wait_for(lock, patience, [&] { return list.size() >= count; }))
        << list.size() << " of " << count;
    return list;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<HostIndex, std::vector<ElementFrame>> elements_;
  std::map<HostIndex, std::vector<CreditFrame>> credits_;
  std::vector<std::pair<HostIndex, Error>> lost_;
};

inline TcpDataPlaneOptions loopback_options(std::uint32_t host) {
  return {.listen_host = "127.0.0.1",
          .ports = {},
          .advertise_host = {},
          .token = *token_of_secret("0123456789abcdef"),
          .job = {42},
          .attempt = {1},
          .host = {host},
          .log = {}};
}

// A host: its plane and what that has told.
struct Host {
  explicit Host(TcpDataPlaneOptions options) : index(options.host) {
    auto started = TcpDataPlane::start(std::move(options), received);
    EXPECT_TRUE(started) << started.error().message;
    plane = std::move(started).value();
  }
  explicit Host(std::uint32_t host) : Host(loopback_options(host)) {}

  void connect_to(const Host& other) { plane->connect({{other.index, other.plane->address()}}); }

  HostIndex index;
  Recorder received;  // outlives the plane
  std::unique_ptr<TcpDataPlane> plane;
};

// Batches are told apart by their charge.
inline ElementFrame numbered_batch(std::uint64_t number, std::size_t payload_bytes) {
  return {.vertex = {1},
          .subtask = {2},
          .channel = {3},
          .kind = ElementKind::batch,
          .charged_bytes = number,
          .payload = Bytes(payload_bytes, static_cast<std::byte>(number))};
}

}  // namespace weir
