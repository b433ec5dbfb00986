// Rows that keyed steps put out.
#pragma once

#include "base/time.h"

namespace weir {

// The value of a key so far.
template <class K, class V>
struct Keyed {
  K key;
  V value;
  friend bool operator==(const Keyed&, const Keyed&) = default;
};

// The value of a key in a window.
template <class K, class V>
struct Windowed {
  EventTime window_start;
  EventTime window_end;
  K key;
  V value;
  friend bool operator==(const Windowed&, const Windowed&) = default;
};

// The value of a window of all records together.
template <class V>
struct AllWindowed {
  EventTime window_start;
  EventTime window_end;
  V value;
  friend bool operator==(const AllWindowed&, const AllWindowed&) = default;
};

}  // namespace weir
