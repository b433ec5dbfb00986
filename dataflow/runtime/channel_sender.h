// The sending end of a channel: what may be sent now, and what waits for credit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/check.h"
#include "dataflow/runtime/element.h"

namespace weir {

// Carries an element to the receiving end of a channel, in order and without loss. The one thing
// that differs between channels within a process and between processes.
class ChannelTransport {
 public:
  virtual ~ChannelTransport() = default;
  virtual void send(Element element, std::uint64_t charged_bytes) = 0;
};

// Flow control in bytes. The receiver grants a window and gives back what it has consumed; a batch
// may leave while credit is positive, and may overdraw it, so a record larger than the window
// passes alone. Control elements cost nothing but keep their place behind batches that wait.
//
// Invariant: credit + in_flight = window, both counted as charged at sending. Not thread-safe.
class ChannelSender {
 public:
  // The transport outlives the sender.
  ChannelSender(ChannelTransport& transport, std::uint64_t window_bytes)
      : transport_(&transport), window_bytes_(static_cast<std::int64_t>(window_bytes)) {
    WEIR_CHECK(window_bytes > 0);
  }

  // Requires that nothing has been sent.
  void set_window(std::uint64_t window_bytes) {
    WEIR_CHECK(sent_bytes_ == 0 && window_bytes > 0);
    window_bytes_ = static_cast<std::int64_t>(window_bytes);
  }
  [[nodiscard]] std::uint64_t window_bytes() const {
    return static_cast<std::uint64_t>(window_bytes_);
  }

  // Sends at once, or when credit comes.
  void send(Element element) {
    waiting_.push_back(std::move(element));
    drain();
  }

  // Credit came back. Requires that it was in flight.
  void add_credit(std::uint64_t bytes) {
    in_flight_bytes_ -= static_cast<std::int64_t>(bytes);
    WEIR_CHECK(in_flight_bytes_ >= 0);
    drain();
  }

  // Whether nothing waits for credit here and a batch would leave at once.
  [[nodiscard]] bool has_room() const {
    return waiting_.empty() && in_flight_bytes_ < window_bytes_;
  }
  // Whether the receiver has consumed everything it was sent.
  [[nodiscard]] bool receiver_is_idle() const { return waiting_.empty() && in_flight_bytes_ == 0; }
  // Whether everything has left.
  [[nodiscard]] bool drained() const { return waiting_.empty(); }
  [[nodiscard]] std::int64_t in_flight_bytes() const { return in_flight_bytes_; }
  // Charged in all.
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void drain() {
    while (!waiting_.empty()) {
      std::uint64_t charge = 0;
      if (const auto* batch = std::get_if<BatchPtr>(&waiting_.front())) {
        if (in_flight_bytes_ >= window_bytes_) return;
        charge = (*batch)->bytes();
      }
      in_flight_bytes_ += static_cast<std::int64_t>(charge);
      sent_bytes_ += charge;
      Element element = std::move(waiting_.front());
      waiting_.pop_front();
      transport_->send(std::move(element), charge);
    }
  }

  ChannelTransport* transport_;
  std::int64_t window_bytes_;
  std::int64_t in_flight_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::deque<Element>
      waiting_;  // a batch or two and control elements: writers ask has_room() first
};

}  // namespace weir
