#include "state/redistribution.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace weir {
namespace {

// One operator state by instance.
struct ItemsByInstance {
  StateDescriptor descriptor;
  std::vector<std::vector<Bytes>> lists;
};

RestoredKeyedState& state_of(RestoredState& instance, const StateDescriptor& descriptor) {
  const auto found = std::ranges::find(instance.keyed, descriptor, &RestoredKeyedState::descriptor);
  if (found != instance.keyed.end()) return *found;
  return instance.keyed.emplace_back(RestoredKeyedState{descriptor, {}});
}

std::vector<std::vector<Bytes>> all_to_each(const std::vector<std::vector<Bytes>>& lists,
                                            std::uint32_t parallelism) {
  std::vector<Bytes> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return std::vector<std::vector<Bytes>>(parallelism, all);
}

std::vector<std::vector<Bytes>> first_to_each(const std::vector<std::vector<Bytes>>& maps,
                                              std::uint32_t parallelism) {
  const auto first = std::ranges::find_if(maps, [](const auto& map) { return !map.empty(); });
  return std::vector<std::vector<Bytes>>(parallelism,
                                         first == maps.end() ? std::vector<Bytes>{} : *first);
}

std::vector<std::vector<Bytes>> redistributed(ItemsByInstance state, std::uint32_t parallelism) {
  switch (state.descriptor.kind) {
    case StateKind::union_list:
      return all_to_each(state.lists, parallelism);
    case StateKind::broadcast:
      return first_to_each(state.lists, parallelism);
    default:
      return deal_items(std::move(state.lists), parallelism);
  }
}

}  // namespace

std::vector<std::vector<Bytes>> deal_items(std::vector<std::vector<Bytes>> old_lists,
                                           std::uint32_t parallelism) {
  if (old_lists.size() == parallelism) return old_lists;
  std::vector<Bytes> all;
  for (auto& list : old_lists) std::ranges::move(list, std::back_inserter(all));
  std::vector<std::vector<Bytes>> dealt(parallelism);
  auto next = all.begin();
  for (std::uint32_t i = 0; i < parallelism; ++i) {
    const std::size_t count = all.size() / parallelism + (i < all.size() % parallelism ? 1 : 0);
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    dealt[i].assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  return dealt;
}

std::vector<RestoredState> redistribute(std::vector<RestoredState> old_instances,
                                        std::uint32_t parallelism, std::uint32_t max_parallelism) {
  std::vector<RestoredState> instances(parallelism);
  std::map<std::string, ItemsByInstance> item_states;
  for (std::size_t i = 0; i < old_instances.size(); ++i) {
    for (auto& [descriptor, groups] : old_instances[i].keyed) {
      // Also where it has no entries, so that a state nobody registers is missed.
      for (auto& instance : instances) (void)state_of(instance, descriptor);
      for (auto& [group, bytes] : groups) {
        const SubtaskIndex owner = subtask_of(group, parallelism, max_parallelism);
        state_of(instances[owner.value], descriptor).groups.emplace_back(group, std::move(bytes));
      }
    }
    for (auto& [descriptor, items] : old_instances[i].items) {
      ItemsByInstance& state = item_states[descriptor.name];
      state.descriptor = descriptor;
      state.lists.resize(old_instances.size());
      state.lists[i] = std::move(items);
    }
  }
  for (auto& [name, state] : item_states) {
    const StateDescriptor descriptor = state.descriptor;
    auto lists = redistributed(std::move(state), parallelism);
    for (std::uint32_t i = 0; i < parallelism; ++i)
      instances[i].items.push_back({descriptor, std::move(lists[i])});
  }
  return instances;
}

RestoredState write_to_memory(FrozenState frozen) {
  RestoredState written;
  for (const auto& state : frozen.keyed) {
    auto& groups = written.keyed.emplace_back(RestoredKeyedState{state->descriptor(), {}}).groups;
    const KeyGroupRange range = state->slice().range;
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const KeyGroup group{range.first.value + i};
      Bytes bytes;
      ByteWriter writer(bytes);
      state->write_group(group, writer);
      if (!bytes.empty()) groups.emplace_back(group, std::move(bytes));
    }
  }
  written.items = std::move(frozen.items);
  return written;
}

}  // namespace weir
