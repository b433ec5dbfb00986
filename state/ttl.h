// How long state is kept that nobody uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.h"
#include "state/hash_map.h"

namespace weir {

// What keeps an entry alive: being written, or also being read.
enum class TtlUpdate : std::uint8_t { on_create_and_write, on_read_and_write };
// Whether an expired entry is seen (once) when it is read before it has been removed.
enum class TtlVisibility : std::uint8_t {
  never_return_expired,
  return_expired_if_not_cleaned_up,
};

// Time to live of a state's entries, in processing time; those of lists and maps expire one by one.
// Expired entries are removed when they are read, when a snapshot is taken (from the snapshot), and
// a few with every write. Turning it on or off makes another type of the state.
struct StateTtl {
  Duration time{0};  // 0: for ever
  TtlUpdate update = TtlUpdate::on_create_and_write;
  TtlVisibility visibility = TtlVisibility::never_return_expired;

  [[nodiscard]] constexpr bool is_on() const { return time > Duration{0}; }
  // From `last_update` + time on. A clock that went back expires nothing.
  [[nodiscard]] constexpr bool has_expired(std::int64_t last_update_ms, ProcessingTime now) const {
    if (now.ms < last_update_ms) return false;
    const auto age =
        static_cast<std::uint64_t>(now.ms) - static_cast<std::uint64_t>(last_update_ms);
    return age >= static_cast<std::uint64_t>(time.count());
  }
};

// As a member's option: ValueState<int> failures{ttl(1h)}.
[[nodiscard]] constexpr StateTtl ttl(
    Duration time, TtlUpdate update = TtlUpdate::on_create_and_write,
    TtlVisibility visibility = TtlVisibility::never_return_expired) {
  return {time, update, visibility};
}

// What is stored of a value, a list and a map that expire. Each knows of how many parts it is, whether some of them have
// expired, and removes those; `expire` returns whether anything is left.
template <class V>
struct TimedValue {
  std::int64_t updated_ms = 0;
  V value{};
};
template <class T>
struct TimedList {
  std::vector<T> values;
  std::vector<std::int64_t> updated_ms;
};
template <class K, class V>
struct TimedMap {
  HashMap<K, TimedValue<V>> entries;
};

template <class V>
[[nodiscard]] std::size_t part_count(const TimedValue<V>& /*timed*/) {
  return 1;
}
template <class V>
[[nodiscard]] bool has_expired(const TimedValue<V>& timed, const StateTtl& ttl,
                               ProcessingTime now) {
  return ttl.has_expired(timed.updated_ms, now);
}
template <class V>
bool expire(TimedValue<V>& timed, const StateTtl& ttl, ProcessingTime now) {
  if (!has_expired(timed, ttl, now)) return true;
  timed = {};
  return false;
}

template <class T>
[[nodiscard]] std::size_t part_count(const TimedList<T>& list) {
  return list.values.size();
}
template <class T>
[[nodiscard]] bool has_expired(const TimedList<T>& list, const StateTtl& ttl, ProcessingTime now) {
  return std::ranges::any_of(list.updated_ms,
                             [&](std::int64_t updated) { return ttl.has_expired(updated, now); });
}
template <class T>
bool expire(TimedList<T>& list, const StateTtl& ttl, ProcessingTime now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.values.size(); ++i) {
    if (ttl.has_expired(list.updated_ms[i], now)) continue;
    if (kept != i) list.values[kept] = std::move(list.values[i]);
    list.updated_ms[kept++] = list.updated_ms[i];
  }
  list.values.resize(kept);
  list.updated_ms.resize(kept);
  return kept > 0;
}

template <class K, class V>
[[nodiscard]] std::size_t part_count(const TimedMap<K, V>& map) {
  return map.entries.size();
}
template <class K, class V>
[[nodiscard]] bool has_expired(const TimedMap<K, V>& map, const StateTtl& ttl, ProcessingTime now) {
  return std::ranges::any_of(
      map.entries, [&](const auto& entry) { return has_expired(entry.second, ttl, now); });
}
template <class K, class V>
bool expire(TimedMap<K, V>& map, const StateTtl& ttl, ProcessingTime now) {
  std::erase_if(map.entries,
                [&](const auto& entry) { return has_expired(entry.second, ttl, now); });
  return !map.entries.empty();
}

}  // namespace weir
