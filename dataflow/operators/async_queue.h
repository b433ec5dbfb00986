// In which order answers leave an asynchronous step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "dataflow/api/async.h"
#include "dataflow/runtime/element.h"

namespace weir {

// Entries are of type E; controls (watermarks and statuses) lie between them. Ordered: everything leaves in the order in which it came.
// Unordered: what is settled leaves, but nothing passes a control in either direction.
//
// A pure state machine, not thread-safe.
template <class E>
class AsyncQueue {
 public:
  using Control = std::variant<Watermark, WatermarkStatus, LoopMarker>;
  using Entry = std::shared_ptr<E>;

  explicit AsyncQueue(AsyncOrder order) : order_(order), segments_(1) {}

  void add(Entry entry) {
    segments_.back().waiting.push_back(std::move(entry));
    ++size_;
  }
  // A watermark with nothing between it and the one before takes its place: so there are not many more controls than entries, however long
  // these wait.
  void add(Control control) {
    if (std::holds_alternative<Watermark>(control) && segments_.back().waiting.empty() &&
        segments_.size() > 1) {
      auto& before = std::prev(segments_.end(), 2)->end;
      if (std::holds_alternative<Watermark>(*before)) {
        before = control;
        return;
      }
    }
    segments_.back().end = control;
    segments_.emplace_back();
  }
  // Of entries, those that have not left.
  [[nodiscard]] std::size_t size() const { return size_; }

  // What may leave now; nothing while it waits. is_settled(const E&) says whether an entry has its answer.
  template <class IsSettled>
  [[nodiscard]] std::variant<std::monostate, Entry, Control> next(IsSettled is_settled) {
    Segment& segment = segments_.front();
    if (segment.waiting.empty()) {
      if (!segment.end) return {};
      const Control control = *segment.end;
      segments_.pop_front();
      return control;
    }
    auto at = segment.waiting.begin();
    if (order_ == AsyncOrder::unordered)
      at = std::find_if(at, segment.waiting.end(), [&](const Entry& e) { return is_settled(*e); });
    if (at == segment.waiting.end() || !is_settled(**at)) return {};
    Entry entry = std::move(*at);
    segment.waiting.erase(at);
    --size_;
    return entry;
  }

  // Of controls, those that have not left.
  [[nodiscard]] std::size_t control_count() const { return segments_.size() - 1; }

  // All entries, in the order in which they came.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Segment& segment : segments_) {
      for (const Entry& entry : segment.waiting) visit(*entry);
    }
  }

 private:
  struct Segment {
    std::deque<Entry> waiting;
    std::optional<Control> end;  // which all of them must have left before
  };

  AsyncOrder order_;
  std::deque<Segment> segments_;
  std::size_t size_ = 0;
};

}  // namespace weir
