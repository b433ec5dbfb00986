// The records of a window, where a function or an evictor wants them all.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "base/value_vector.h"

namespace weir {

// In the order of their arrival; after windows have merged, one window's before the other's. `times` are the records' own
// event times, no_timestamp for those without; it has the size of `values`.
template <class T>
struct WindowElements {
  ValueVector<T> values;
  std::vector<EventTime> times;

  void add(const T& value, EventTime time) {
    values.push_back(value);
    times.push_back(time);
  }
  void append(WindowElements&& others) {
    values.insert(values.end(), std::make_move_iterator(others.values.begin()),
                  std::make_move_iterator(others.values.end()));
    times.insert(times.end(), others.times.begin(), others.times.end());
  }
  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] bool empty() const { return values.empty(); }

  // Requires count <= size().
  void erase_front(std::size_t count) {
    WEIR_CHECK(count <= size());
    const auto end = static_cast<std::ptrdiff_t>(count);
    values.erase(values.begin(), values.begin() + end);
    times.erase(times.begin(), times.begin() + end);
  }
  // drop(const T&, EventTime) → whether the element goes; asked once about each, in order.
  template <class Drop>
  void erase_if(Drop drop) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (drop(std::as_const(values[i]), times[i])) continue;
      if (kept != i) {
        values[kept] = std::move(values[i]);
        times[kept] = times[i];
      }
      ++kept;
    }
    values.resize(kept);
    times.resize(kept);
  }
};

}  // namespace weir
