// A map inside a state, by the hash and equality that keys have everywhere.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "base/hash.h"

namespace weir {

struct HashOfKey {
  template <class K>
  [[nodiscard]] std::size_t operator()(const K& key) const {
    return hash_of(key);
  }
};
struct KeysEqual {
  template <class K>
  [[nodiscard]] bool operator()(const K& a, const K& b) const {
    return keys_equal(a, b);
  }
};
template <class K, class V>
using HashMap = std::unordered_map<K, V, HashOfKey, KeysEqual>;

}  // namespace weir
