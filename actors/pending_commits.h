// What sinks have written and nobody can see yet, until their committers say that it is visible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "actors/commit_limit.h"
#include "base/ids.h"
#include "dataflow/sink.h"

namespace weir {

// By sink, and by the checkpoint that must be complete first. A later one covers the earlier ones, which may have
// been given up. Not thread-safe.
class PendingCommits {
 public:
  // Of the barrier of `checkpoint`, or of a task that has finished after it: the next one covers that.
  void add(NodeId sink, CheckpointId checkpoint, std::vector<Committable> committables) {
    if (committables.empty()) return;  // as of most sinks at most checkpoints
    auto& all = by_sink_[sink][checkpoint];
    std::ranges::move(committables, std::back_inserter(all));
  }
  // Of all that the sink still has to commit.
  [[nodiscard]] std::size_t bytes_of(NodeId sink) const {
    std::size_t bytes = 0;
    const auto found = by_sink_.find(sink);
    if (found == by_sink_.end()) return bytes;
    for (const auto& [id, of_checkpoint] : found->second) bytes += weir::bytes_of(of_checkpoint);
    return bytes;
  }

  // What is visible once that checkpoint is complete; nothing is forgotten.
  [[nodiscard]] std::vector<Committable> up_to(NodeId sink, CheckpointId checkpoint) const {
    std::vector<Committable> committables;
    const auto found = by_sink_.find(sink);
    if (found == by_sink_.end()) return committables;
    for (const auto& [id, of_checkpoint] : found->second) {
      if (id > checkpoint) break;
      committables.insert(committables.end(), of_checkpoint.begin(), of_checkpoint.end());
    }
    return committables;
  }

  // A committer makes them visible; whether it has, may remain unknown.
  void on_committing(NodeId sink, CheckpointId checkpoint) {
    const auto found = by_sink_.find(sink);
    if (found == by_sink_.end()) return;
    const auto end = found->second.upper_bound(checkpoint);
    if (end != found->second.begin()) on_restored(sink, std::prev(end)->first);
  }
  // The same of what this checkpoint brings.
  void on_restored(NodeId sink, CheckpointId checkpoint) {
    visible_[sink] = std::max(visible_[sink], checkpoint);
  }
  // They are visible.
  void on_committed(NodeId sink, CheckpointId checkpoint) {
    on_committing(sink, checkpoint);
    const auto found = by_sink_.find(sink);
    if (found != by_sink_.end())
      found->second.erase(found->second.begin(), found->second.upper_bound(checkpoint));
  }
  // The first checkpoint that covers all that may be visible; 0 if nothing is. Whoever begins from an earlier one would
  // commit it again.
  [[nodiscard]] CheckpointId visible_up_to(NodeId sink) const {
    const auto found = visible_.find(sink);
    return found == visible_.end() ? CheckpointId{0} : found->second;
  }
  // The sink's region begins again, from a checkpoint that brings its own.
  void forget(NodeId sink) { by_sink_.erase(sink); }

 private:
  std::map<NodeId, std::map<CheckpointId, std::vector<Committable>>> by_sink_;
  std::map<NodeId, CheckpointId> visible_;
};

}  // namespace weir
