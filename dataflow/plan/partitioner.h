// How records of one step are divided among the subtasks of the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "dataflow/batch.h"

namespace weir {

enum class Partitioning : std::uint8_t {
  forward,    // to the subtask of the same index; equal parallelism; the only one that chains
  hash,       // by key, so that all records of a key meet
  rebalance,  // to all in turn
  rescale,    // to some in turn: as few connections as the two parallelisms allow
  broadcast,  // every record to all
  shuffle,    // to one at random
  global,     // to subtask 0
  custom,     // where the user's function says
};
[[nodiscard]] std::string_view name_of(Partitioning partitioning);

// Whether each producer is connected to every consumer, or only to those of its share.
[[nodiscard]] constexpr bool is_all_to_all(Partitioning partitioning) {
  return partitioning != Partitioning::forward && partitioning != Partitioning::rescale;
}

// Computes the key hashes of a batch. Immutable, shared by all subtasks and used by several threads
// at once.
class KeyHasher {
 public:
  virtual ~KeyHasher() = default;
  // One hash per row, replacing the content of `hashes`.
  virtual void hash_keys(const AnyBatch& batch, std::vector<KeyHash>& hashes) const = 0;
  // Identifies the keyed edge, so that a batch that carries its hashes is not hashed again.
  [[nodiscard]] virtual KeyTag tag() const = 0;
};

// Chooses a subtask in [0, subtask_count) for each row, replacing the content of `targets`.
// Immutable, like KeyHasher.
class CustomPartitioner {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};  // the function chose what is no subtask

  virtual ~CustomPartitioner() = default;
  virtual void choose(const AnyBatch& batch, std::uint32_t subtask_count,
                      std::vector<std::uint32_t>& targets) const = 0;
};

}  // namespace weir
