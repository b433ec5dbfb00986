#include "bench/limits/keyed_count.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "base/random.h"
#include "bench/limits/key_slots.h"
#include "bench/paired.h"

namespace weir::bench {
namespace {

struct Slot {
  std::uint64_t key;
  std::uint64_t count;

  [[nodiscard]] bool used() const { return count != 0; }
  void take(std::uint64_t new_key) { key = new_key; }
};

std::uint64_t flush(KeySlots<Slot>& table, std::int64_t window_end) {
  std::uint64_t hash = 0;
  for (Slot& slot : table.all()) {
    if (slot.count == 0) continue;
    hash += row_hash(slot.key, static_cast<std::int64_t>(slot.count), window_end);
    slot.count = 0;
  }
  return hash;
}

}  // namespace

std::vector<Record> make_records(std::size_t count, std::size_t keys, double per_ms) {
  Random random(42);
  std::vector<Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i] = {mix64(random.below(keys)),
                  static_cast<std::int64_t>(static_cast<double>(i) / per_ms), 1};
  }
  return records;
}

std::vector<Record> make_parallel_records(std::size_t count, std::size_t keys, double per_ms) {
  auto records = make_records(count, keys, per_ms);
  const std::size_t half = count / 2;
  for (std::size_t i = 0; i < count; ++i) {
    records[i].time_ms = static_cast<std::int64_t>(static_cast<double>(i % half) * 2 / per_ms);
  }
  return records;
}

std::vector<Record> merged_halves(const std::vector<Record>& records) {
  const std::size_t half = records.size() / 2;
  std::vector<Record> merged(records.size());
  for (std::size_t i = 0; i < half; ++i) {
    merged[2 * i] = records[i];
    merged[2 * i + 1] = records[half + i];
  }
  return merged;
}

std::uint64_t row_hash(std::uint64_t key, std::int64_t count, std::int64_t window_end) {
  return mix64(key ^ static_cast<std::uint64_t>(count) * 31 ^
               static_cast<std::uint64_t>(window_end));
}

std::uint64_t count_by_hand(const std::vector<Record>& records, std::size_t keys) {
  KeySlots<Slot> table(keys);
  std::uint64_t hash = 0;
  std::int64_t window_end = window_ms;
  constexpr std::size_t ahead = 16;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (i + ahead < records.size()) table.prefetch(records[i + ahead].key);
    if (record.time_ms >= window_end) [[unlikely]] {
      hash += flush(table, window_end);
      window_end = record.time_ms - record.time_ms % window_ms + window_ms;
    }
    ++table.slot_of(record.key).count;  // which takes the slot
  }
  return hash + flush(table, window_end);
}

double memory_bandwidth() {
  constexpr std::size_t words = std::size_t{32} * 1024 * 1024;  // 256 MB: far beyond the caches
  static const std::vector<std::uint64_t> memory(words, 1);
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) {
    const double begin = seconds_now();
    keep(std::accumulate(memory.begin(), memory.end(), std::uint64_t{0}));
    rates.push_back(static_cast<double>(words * sizeof(std::uint64_t)) / (seconds_now() - begin));
  }
  return quantile(rates, 0.5);
}

}  // namespace weir::bench
