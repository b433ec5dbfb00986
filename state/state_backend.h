// All states of one operator instance: where they are registered, frozen and restored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/schema.h"
#include "state/hash_map.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"
#include "state/snapshot.h"
#include "state/timer_queue.h"

namespace weir {

// The operator registers its states by name when it opens; what is registered comes with the
// entries it is restored with. Registering fails with Errc::state_mismatch if those are of another
// kind or of other types, with Errc::corrupt_data if they do not decode, and with Errc::user_code if
// the name is taken.
//
// States are shared with whoever uses them, and stay with the backend until it ends. Not
// thread-safe: one thread at a time, but what is frozen may be written by another.
class StateBackend {
 public:
  // The slice may be of no groups for an operator without keys.
  explicit StateBackend(KeyGroupSlice slice, RestoredState restored = {},
                        std::string operator_name = {});
  StateBackend(const StateBackend&) = delete;
  StateBackend& operator=(const StateBackend&) = delete;
  ~StateBackend();

  [[nodiscard]] const KeyGroupSlice& slice() const { return slice_; }

  // Called at each freeze, for an encoder that leaves out what has expired by then.
  template <class K, class V>
  using MakeEncoder = std::function<std::shared_ptr<const EntryEncoder<K, V>>()>;

  // A value of type V per key.
  template <class K, class V>
  [[nodiscard]] Result<std::shared_ptr<KeyedTable<K, V>>> keyed(
      const std::string& name, StateKind kind, MakeEncoder<K, V> make_encoder = {});
  // A value per key and namespace.
  template <class N, class K, class V>
  [[nodiscard]] Result<std::shared_ptr<NamespacedTables<N, K, V>>> windows(const std::string& name);
  // The timers of one time domain: StateKind::event_timers or processing_timers. `names` are those
  // of the operator's timers, by TimerIndex; restored timers are found by them.
  template <class K>
  [[nodiscard]] Result<std::shared_ptr<TimerQueue<K>>> timers(StateKind domain,
                                                              std::vector<std::string> names);
  // StateKind::split_list or union_list.
  template <class T>
  [[nodiscard]] Result<std::shared_ptr<std::vector<T>>> list(const std::string& name,
                                                             StateKind kind);
  // The same in all instances; it is restored from the first of the snapshots that has entries.
  template <class K, class V>
  [[nodiscard]] Result<std::shared_ptr<HashMap<K, V>>> broadcast(const std::string& name);

  // All states as they are now, for another thread to write; takes time per table, not per entry,
  // but for operator states. A freeze of before that is not written yet is encoded first.
  [[nodiscard]] FrozenState freeze();

  // What is restored and has not been registered: the operator that wrote it had more states.
  [[nodiscard]] std::vector<std::string> unclaimed() const;
  // Errc::state_mismatch that names them, if there are any.
  [[nodiscard]] Result<void> check_all_claimed() const;

 private:
  using Freeze = std::function<void(FrozenState&)>;
  using Groups = std::vector<std::pair<KeyGroup, Bytes>>;

  // Takes the name, and what is restored under it.
  [[nodiscard]] Result<Groups> claim_groups(const StateDescriptor& descriptor);
  [[nodiscard]] Result<std::vector<OperatorStateItems>> claim_items(
      const StateDescriptor& descriptor);
  [[nodiscard]] Result<void> take_name(const StateDescriptor& descriptor);
  [[nodiscard]] Result<void> check_fits(const StateDescriptor& was,
                                        const StateDescriptor& is) const;
  [[nodiscard]] Error damaged(const StateDescriptor& descriptor, const Error& error) const;
  [[nodiscard]] Error no_such_timer(const std::string& timer) const;
  [[nodiscard]] std::string title(const std::string& state) const;

  // Calls read(reader, group) until all entries are read.
  template <class Read>
  [[nodiscard]] Result<void> read_entries(const StateDescriptor& descriptor, const Groups& groups,
                                          Read read) const;
  // A restored key's hash, or a failure of the reader if the key is not of its group.
  template <class K>
  [[nodiscard]] KeyHash checked_hash(ByteReader& reader, const K& key, KeyGroup group) const;

  KeyGroupSlice slice_;
  RestoredState restored_;  // what nobody has claimed yet
  std::string operator_name_;
  std::set<std::string> names_;
  std::vector<Freeze> states_;
};

namespace state_detail {

template <class T>
[[nodiscard]] std::string schema_text() {
  return to_string(schema_of<T>());
}

template <class K, class V>
class PlainEncoder final : public EntryEncoder<K, V> {
 public:
  void encode(ByteWriter& writer, const K& key, const V& value) const override {
    weir::encode(writer, key);
    weir::encode(writer, value);
  }
};

}  // namespace state_detail

template <class Read>
Result<void> StateBackend::read_entries(const StateDescriptor& descriptor, const Groups& groups,
                                        Read read) const {
  for (const auto& [group, bytes] : groups) {
    ByteReader reader(bytes);
    while (reader.ok() && !reader.at_end()) read(reader, group);
    if (!reader.ok()) return damaged(descriptor, reader.error());
  }
  return {};
}

template <class K>
KeyHash StateBackend::checked_hash(ByteReader& reader, const K& key, KeyGroup group) const {
  const KeyHash hash = hash_of(key);
  if (!slice_.range.contains(group) || key_group_of(hash, slice_.max_parallelism) != group)
    reader.fail("a key of its key group");
  return hash;
}

template <class K, class V>
Result<std::shared_ptr<KeyedTable<K, V>>> StateBackend::keyed(const std::string& name,
                                                              StateKind kind,
                                                              MakeEncoder<K, V> make_encoder) {
  using namespace state_detail;
  const StateDescriptor descriptor{name, kind,
                                   "key " + schema_text<K>() + ", value " + schema_text<V>()};
  auto groups = claim_groups(descriptor);
  if (!groups) return groups.error();
  auto table = std::make_shared<KeyedTable<K, V>>(slice_);
  WEIR_TRY(read_entries(descriptor, *groups, [&](ByteReader& reader, KeyGroup group) {
    K key{};
    V value{};
    decode_into(reader, key);
    decode_into(reader, value);
    const KeyHash hash = checked_hash(reader, key, group);
    if (reader.ok()) table->find_or_insert(hash, key) = std::move(value);
  }));
  if (!make_encoder) {
    make_encoder = [encoder = std::make_shared<const PlainEncoder<K, V>>()] { return encoder; };
  }
  states_.push_back([table, descriptor, make_encoder](FrozenState& frozen) {
    frozen.keyed.push_back(std::make_unique<FrozenKeyedTable<K, V>>(descriptor, table->slice(),
                                                                    table->freeze(make_encoder())));
  });
  return table;
}

template <class N, class K, class V>
Result<std::shared_ptr<NamespacedTables<N, K, V>>> StateBackend::windows(const std::string& name) {
  using namespace state_detail;
  const StateDescriptor descriptor{name, StateKind::windows,
                                   "namespace " + schema_text<N>() + ", key " + schema_text<K>() +
                                       ", value " + schema_text<V>()};
  auto groups = claim_groups(descriptor);
  if (!groups) return groups.error();
  auto tables = std::make_shared<NamespacedTables<N, K, V>>(slice_);
  WEIR_TRY(read_entries(descriptor, *groups, [&](ByteReader& reader, KeyGroup group) {
    N space{};
    K key{};
    V value{};
    decode_into(reader, space);
    decode_into(reader, key);
    decode_into(reader, value);
    const KeyHash hash = checked_hash(reader, key, group);
    if (reader.ok()) tables->table_of(space).find_or_insert(hash, key) = std::move(value);
  }));
  states_.push_back([tables, descriptor](FrozenState& frozen) {
    frozen.keyed.push_back(tables->freeze(descriptor));
  });
  return tables;
}

template <class K>
Result<std::shared_ptr<TimerQueue<K>>> StateBackend::timers(StateKind domain,
                                                            std::vector<std::string> names) {
  using namespace state_detail;
  const bool of_event_time = domain == StateKind::event_timers;
  const StateDescriptor descriptor{
      of_event_time ? "timers of event time" : "timers of processing time", domain,
      "key " + schema_text<K>()};
  auto groups = claim_groups(descriptor);
  if (!groups) return groups.error();
  auto queue = std::make_shared<TimerQueue<K>>(slice_);
  std::string lost;  // a timer that the operator has no more
  WEIR_TRY(read_entries(descriptor, *groups, [&](ByteReader& reader, KeyGroup group) {
    const auto time_ms = reader.scalar<std::int64_t>();
    const std::string_view name = reader.text();
    K key{};
    decode_into(reader, key);
    (void)checked_hash(reader, key, group);
    if (!reader.ok()) return;
    std::uint32_t index = 0;
    while (index < names.size() && names[index] != name) ++index;
    if (index == names.size()) {
      lost = name;
    } else {
      queue->add({time_ms, {index}, std::move(key)});
    }
  }));
  if (!lost.empty()) return no_such_timer(lost);
  states_.push_back(
      [queue, descriptor,
       shared = std::make_shared<const std::vector<std::string>>(std::move(names))](
          FrozenState& frozen) { frozen.keyed.push_back(queue->freeze(descriptor, shared)); });
  return queue;
}

template <class T>
Result<std::shared_ptr<std::vector<T>>> StateBackend::list(const std::string& name,
                                                           StateKind kind) {
  const StateDescriptor descriptor{name, kind, "item " + state_detail::schema_text<T>()};
  auto restored = claim_items(descriptor);
  if (!restored) return restored.error();
  auto list = std::make_shared<std::vector<T>>();
  for (const OperatorStateItems& part : *restored) {
    for (const Bytes& bytes : part.items) {
      auto item = from_bytes<T>(bytes);
      if (!item) return damaged(descriptor, item.error());
      list->push_back(*std::move(item));
    }
  }
  states_.push_back([list, descriptor](FrozenState& frozen) {
    auto& items = frozen.items.emplace_back(OperatorStateItems{descriptor, {}}).items;
    items.reserve(list->size());
    for (const T& item : *list) items.push_back(to_bytes(item));
  });
  return list;
}

template <class K, class V>
Result<std::shared_ptr<HashMap<K, V>>> StateBackend::broadcast(const std::string& name) {
  using namespace state_detail;
  const StateDescriptor descriptor{name, StateKind::broadcast,
                                   "key " + schema_text<K>() + ", value " + schema_text<V>()};
  auto restored = claim_items(descriptor);
  if (!restored) return restored.error();
  auto map = std::make_shared<HashMap<K, V>>();
  for (const OperatorStateItems& part : *restored) {
    if (!map->empty()) break;
    for (const Bytes& bytes : part.items) {
      auto entry = from_bytes<std::pair<K, V>>(bytes);
      if (!entry) return damaged(descriptor, entry.error());
      map->insert(*std::move(entry));
    }
  }
  states_.push_back([map, descriptor](FrozenState& frozen) {
    auto& items = frozen.items.emplace_back(OperatorStateItems{descriptor, {}}).items;
    items.reserve(map->size());
    for (const auto& [key, value] : *map) {
      Bytes& bytes = items.emplace_back();
      ByteWriter writer(bytes);
      encode(writer, key);
      encode(writer, value);
    }
  });
  return map;
}

}  // namespace weir
