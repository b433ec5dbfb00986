// Frozen state made by hand, and bytes, for the tests of this folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/snapshot.h"

namespace weir {

inline Bytes bytes_of(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A keyed state whose groups have these entries.
class FrozenByHand final : public FrozenKeyedState {
 public:
  FrozenByHand(std::string name, KeyGroupSlice slice, std::map<std::uint32_t, std::string> groups)
      : descriptor_{.name = std::move(name), .kind = StateKind::value, .schema = "long→long"},
        slice_(slice),
        groups_(std::move(groups)) {}

  [[nodiscard]] const StateDescriptor& descriptor() const override { return descriptor_; }
  [[nodiscard]] KeyGroupSlice slice() const override { return slice_; }
  void write_group(KeyGroup group, ByteWriter& writer) override {
    writer.bytes(bytes_of(groups_[group.value]));
  }

 private:
  StateDescriptor descriptor_;
  KeyGroupSlice slice_;
  std::map<std::uint32_t, std::string> groups_;
};

// Items of a list or broadcast state.
inline OperatorStateItems items_of(std::string name, StateKind kind,
                                   const std::vector<std::string>& items) {
  OperatorStateItems state{.descriptor = {.name = std::move(name), .kind = kind, .schema = "text"},
                           .items = {}};
  for (const std::string& item : items) state.items.push_back(bytes_of(item));
  return state;
}

}  // namespace weir
