// Divides what a task puts out on one edge among the channels of that edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "dataflow/plan/partitioner.h"
#include "dataflow/runtime/batch_pool.h"
#include "dataflow/runtime/channel_sender.h"
#include "dataflow/runtime/element.h"
#include "dataflow/runtime/key_group_sample.h"

namespace weir {

// What an edge needs to know to route; the same for all producing subtasks.
struct ExchangeSpec {
  Partitioning partitioning = Partitioning::forward;
  std::shared_ptr<const KeyHasher> key_hasher;      // of hash
  std::shared_ptr<const CustomPartitioner> custom;  // of custom
  std::uint32_t max_parallelism = 0;                // of the consumer, for hash
  std::string consumer_name;                        // for messages
};

// Collects records per channel until a batch is full, or the channel's receiver has nothing else to
// do. Not thread-safe; owned by its task.
class ExchangeWriter {
 public:
  // One sender per consuming subtask this producer is connected to, in their order. Senders and
  // pool outlive it.
  ExchangeWriter(ExchangeSpec spec, std::vector<ChannelSender*> channels, BatchPool& pool,
                 std::uint64_t random_seed);

  // The step that the records go to, for messages.
  [[nodiscard]] const std::string& consumer_name() const { return spec_.consumer_name; }
  // Of the records written so far; of none if the edge is not hashed or leads to one subtask only.
  [[nodiscard]] const KeyGroupSample& key_groups() const { return key_groups_; }
  // Whether write() may be called: no batch waits here, and every channel would take one.
  [[nodiscard]] bool has_room() const;
  // Whether everything written has been handed to the channels, partly filled batches too.
  [[nodiscard]] bool drained() const;

  // Takes over a batch and divides as much of it as there is room for; `advance` goes on. Requires
  // has_room(). Fails if the user's partitioner does.
  [[nodiscard]] Result<void> write(BatchPtr batch);
  [[nodiscard]] Result<void> advance();

  // Sends a control element to all channels, behind everything written.
  void broadcast(Element control);

  // Lets partly filled batches leave to receivers that have nothing queued.
  void flush_to_idle_receivers();

 private:
  struct Lane {
    ChannelSender* sender;
    BatchPtr filling;  // null or not empty
    std::vector<std::uint32_t> selected;
  };

  [[nodiscard]] Result<void> divide(std::size_t begin, std::size_t end);
  [[nodiscard]] Result<void> choose_lanes(std::size_t begin, std::size_t end);
  void pass_whole(Lane& lane, BatchPtr batch);
  void send_filling(Lane& lane);
  void send_control(const Element& control);
  void release_held();
  void send_to_all(BatchPtr batch);
  [[nodiscard]] bool all_have_room() const;

  ExchangeSpec spec_;
  std::vector<Lane> lanes_;
  BatchPool* pool_;
  Random random_;
  std::uint32_t next_lane_ = 0;
  std::vector<std::uint32_t> lane_of_group_;
  std::vector<KeyHash> hashes_;
  std::vector<std::uint32_t> targets_;
  BatchPtr input_;  // being divided, null if none
  std::size_t input_position_ = 0;
  bool input_hashed_ = false;
  KeyGroupSample key_groups_;
  std::vector<Element> held_;  // control elements behind input_
};

}  // namespace weir
