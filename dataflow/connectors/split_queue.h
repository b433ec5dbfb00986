// The splits that one reader has been given, decoded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "base/result.h"
#include "dataflow/source.h"

namespace weir {

// A split's bytes for a source whose splits are, position included, a Content.
template <Encodable Content>
[[nodiscard]] Split make_split(std::string id, const Content& content) {
  Split split{.id = std::move(id), .bytes = {}};
  ByteWriter writer{split.bytes};
  encode(writer, content);
  return split;
}

// The reader advances the content in front; a snapshot makes splits of what is left.
template <Encodable Content>
class SplitQueue {
 public:
  [[nodiscard]] Result<void> add(Split split) {
    auto content = from_bytes<Content>(split.bytes);
    if (!content) return content.error();
    splits_.push_back({std::move(split.id), *std::move(content)});
    return {};
  }

  // Before the first for which goes_before(new, it), but not before the front one if that has begun.
  template <class GoesBefore>
  [[nodiscard]] Result<void> add(Split split, bool front_has_begun, GoesBefore goes_before) {
    WEIR_TRY(add(std::move(split)));
    for (std::size_t i = front_has_begun ? 1 : 0; i + 1 < splits_.size(); ++i) {
      if (!goes_before(splits_.back().content, splits_[i].content)) continue;
      std::rotate(splits_.begin() + static_cast<std::ptrdiff_t>(i), splits_.end() - 1,
                  splits_.end());
      break;
    }
    return {};
  }

  [[nodiscard]] bool empty() const { return splits_.empty(); }

  // These require !empty().
  [[nodiscard]] Content& front() {
    WEIR_CHECK(!empty());
    return splits_.front().content;
  }
  [[nodiscard]] const Content& front() const { return const_cast<SplitQueue*>(this)->front(); }
  [[nodiscard]] const std::string& front_id() const {
    WEIR_CHECK(!empty());
    return splits_.front().id;
  }
  void pop() {
    WEIR_CHECK(!empty());
    splits_.pop_front();
  }

  [[nodiscard]] std::size_t size() const { return splits_.size(); }
  // Requires i < size(). The one in front is 0.
  [[nodiscard]] const Content& operator[](std::size_t i) const { return splits_[i].content; }
  void bring_to_front(std::size_t i) { std::swap(splits_.front(), splits_[i]); }

  [[nodiscard]] std::vector<Split> snapshot() const {
    std::vector<Split> splits;
    for (const Entry& entry : splits_) splits.push_back(make_split(entry.id, entry.content));
    return splits;
  }

 private:
  struct Entry {
    std::string id;
    Content content;
  };
  std::deque<Entry> splits_;
};

}  // namespace weir
