// The receiving end of channels in tests: keeps what arrives, and gives credit back when told to.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "dataflow/batch.h"
#include "dataflow/runtime/channel_sender.h"
#include "dataflow/runtime/element.h"

namespace weir {

class RecordingTransport final : public ChannelTransport {
 public:
  void send(Element element, std::uint64_t charged_bytes) override {
    elements_.push_back(std::move(element));
    if (charged_bytes > 0) charges_.push_back(charged_bytes);
    charged_bytes_ += charged_bytes;
  }

  // Gives the credit of the oldest batch back; returns whether there was one.
  bool consume_one(ChannelSender& sender) {
    if (charges_.empty()) return false;
    const std::uint64_t bytes = charges_.front();
    charges_.pop_front();
    charged_bytes_ -= bytes;
    sender.add_credit(bytes);
    return true;
  }

  [[nodiscard]] const std::vector<Element>& elements() const { return elements_; }
  // Charged and not given back.
  [[nodiscard]] std::uint64_t charged_bytes() const { return charged_bytes_; }

  [[nodiscard]] std::size_t batch_count() const { return batches().size(); }
  [[nodiscard]] std::vector<BatchPtr> batches() const {
    std::vector<BatchPtr> found;
    for (const Element& element : elements_) {
      if (const auto* batch = std::get_if<BatchPtr>(&element)) found.push_back(*batch);
    }
    return found;
  }
  // The values of all batches in order.
  template <class T>
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> all;
    for (const BatchPtr& batch : batches()) {
      const auto& values = batch_cast<T>(*batch).values;
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  std::vector<Element> elements_;
  std::deque<std::uint64_t> charges_;
  std::uint64_t charged_bytes_ = 0;
};

// A batch of these values, as a task would pass it on.
template <class T>
[[nodiscard]] std::shared_ptr<Batch<T>> batch_of(std::vector<T> values) {
  auto batch = std::make_shared<Batch<T>>();
  batch->values = std::move(values);
  return batch;
}

}  // namespace weir
