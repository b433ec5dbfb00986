#include "dataflow/runtime/exchange_writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "state/key_groups.h"

namespace weir {
namespace {

bool is_full(const AnyBatch& batch) {
  return batch.size() >= limits::batch_rows_max || batch.bytes() >= limits::batch_bytes_max;
}

}  // namespace

ExchangeWriter::ExchangeWriter(ExchangeSpec spec, std::vector<ChannelSender*> channels,
                               BatchPool& pool, std::uint64_t random_seed)
    : spec_(std::move(spec)), pool_(&pool), random_(random_seed) {
  WEIR_CHECK(!channels.empty());
  for (ChannelSender* sender : channels) lanes_.push_back({sender, nullptr, {}});
  // Producers start at different consumers, so that many small ones do not all feed the first.
  next_lane_ = static_cast<std::uint32_t>(random_.below(lanes_.size()));
  if (spec_.partitioning == Partitioning::hash) {
    WEIR_CHECK(spec_.key_hasher != nullptr);
    const auto parallelism = static_cast<std::uint32_t>(lanes_.size());
    if (parallelism > 1) key_groups_ = KeyGroupSample(spec_.max_parallelism);
    for (std::uint32_t group = 0; group < spec_.max_parallelism; ++group) {
      lane_of_group_.push_back(subtask_of({group}, parallelism, spec_.max_parallelism).value);
    }
  }
}

bool ExchangeWriter::has_room() const {
  return input_ == nullptr && all_have_room();
}

bool ExchangeWriter::drained() const {
  return input_ == nullptr &&
         std::ranges::none_of(lanes_, [](const Lane& lane) { return lane.filling != nullptr; });
}

bool ExchangeWriter::all_have_room() const {
  return std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.sender->has_room(); });
}

Result<void> ExchangeWriter::write(BatchPtr batch) {
  WEIR_CHECK(input_ == nullptr);
  input_ = std::move(batch);
  input_position_ = 0;
  input_hashed_ = false;
  return advance();
}

Result<void> ExchangeWriter::advance() {
  if (input_ == nullptr) return {};
  const bool one_piece = input_->size() <= limits::batch_rows_max;
  const bool goes_whole = lanes_.size() == 1 || spec_.partitioning == Partitioning::broadcast;
  if (one_piece && input_position_ == 0 && goes_whole && spec_.partitioning != Partitioning::hash) {
    if (!all_have_room()) return {};
    BatchPtr whole = std::exchange(input_, nullptr);
    if (lanes_.size() == 1) {
      pass_whole(lanes_.front(), std::move(whole));
    } else {
      send_to_all(std::move(whole));
    }
    release_held();
    return {};
  }
  while (input_position_ < input_->size() && all_have_room()) {
    const std::size_t end = input_->split_point(input_position_, limits::batch_rows_max);
    WEIR_TRY(divide(input_position_, end));
    input_position_ = end;
  }
  if (input_position_ < input_->size()) return {};
  pool_->put(std::exchange(input_, nullptr));
  release_held();
  return {};
}

void ExchangeWriter::release_held() {
  for (const Element& control : held_) send_control(control);
  held_.clear();
}

// A batch goes on as it is when that costs nobody anything; small ones are merged while the
// receiver is busy.
void ExchangeWriter::pass_whole(Lane& lane, BatchPtr batch) {
  const bool worth_passing = batch->size() * 4 >= limits::batch_rows_max || is_full(*batch);
  if (lane.filling == nullptr && (worth_passing || lane.sender->receiver_is_idle())) {
    lane.sender->send(std::move(batch));
    return;
  }
  if (lane.filling == nullptr) lane.filling = pool_->get(batch->type());
  const Take take = is_unique(batch) ? Take::move : Take::copy;
  lane.filling->append_range(*batch, 0, batch->size(), take);
  pool_->put(std::move(batch));
  if (is_full(*lane.filling)) send_filling(lane);
}

void ExchangeWriter::send_to_all(BatchPtr batch) {
  for (Lane& lane : lanes_) {
    if (lane.filling != nullptr) send_filling(lane);
    lane.sender->send(batch);
  }
}

Result<void> ExchangeWriter::divide(std::size_t begin, std::size_t end) {
  if (spec_.partitioning == Partitioning::broadcast) {
    BatchPtr piece = pool_->get(input_->type());
    piece->append_range(*input_, begin, end, is_unique(input_) ? Take::move : Take::copy);
    send_to_all(std::move(piece));
    return {};
  }
  WEIR_TRY(choose_lanes(begin, end));
  const bool keyed = spec_.partitioning == Partitioning::hash;
  const KeyTag tag = keyed ? spec_.key_hasher->tag() : KeyTag{};
  const Take take = is_unique(input_) ? Take::move : Take::copy;
  for (Lane& lane : lanes_) {
    if (lane.selected.empty()) continue;
    if (lane.filling == nullptr) lane.filling = pool_->get(input_->type());
    lane.filling->append(*input_, lane.selected, take, tag, hashes_);
    lane.selected.clear();
    if (is_full(*lane.filling)) send_filling(lane);
  }
  return {};
}

// Fills each lane's `selected` with its rows of [begin, end).
Result<void> ExchangeWriter::choose_lanes(std::size_t begin, std::size_t end) {
  const auto first = static_cast<std::uint32_t>(begin);
  const auto last = static_cast<std::uint32_t>(end);
  const auto lane_count = static_cast<std::uint32_t>(lanes_.size());
  switch (spec_.partitioning) {
    case Partitioning::hash: {
      if (!input_hashed_) {
        if (input_->key_tag == spec_.key_hasher->tag()) {
          hashes_ = input_->hashes;
        } else {
          spec_.key_hasher->hash_keys(*input_, hashes_);
        }
        key_groups_.add(hashes_);
        input_hashed_ = true;
      }
      if (lane_count == 1) break;
      for (std::uint32_t row = first; row < last; ++row) {
        const KeyGroup group = key_group_of(hashes_[row], spec_.max_parallelism);
        lanes_[lane_of_group_[group.value]].selected.push_back(row);
      }
      return {};
    }
    case Partitioning::custom: {
      if (!input_hashed_) {
        spec_.custom->choose(*input_, lane_count, targets_);
        input_hashed_ = true;
      }
      for (std::uint32_t row = first; row < last; ++row) {
        if (targets_[row] >= lane_count) {
          return Error{Errc::user_code,
                       "partitioner before '" + spec_.consumer_name + "' chose none of the " +
                           std::to_string(lane_count) + " subtasks" +
                           "; return a number from 0 to the count given, exclusive"};
        }
        lanes_[targets_[row]].selected.push_back(row);
      }
      return {};
    }
    case Partitioning::rebalance:
    case Partitioning::rescale:
      for (std::uint32_t row = first; row < last; ++row) {
        lanes_[next_lane_].selected.push_back(row);
        next_lane_ = next_lane_ + 1 == lane_count ? 0 : next_lane_ + 1;
      }
      return {};
    case Partitioning::shuffle:
      for (std::uint32_t row = first; row < last; ++row) {
        lanes_[random_.below(lane_count)].selected.push_back(row);
      }
      return {};
    case Partitioning::forward:
    case Partitioning::global:
    case Partitioning::broadcast:
      break;
  }
  for (std::uint32_t row = first; row < last; ++row) lanes_.front().selected.push_back(row);
  return {};
}

void ExchangeWriter::send_filling(Lane& lane) {
  lane.sender->send(std::exchange(lane.filling, nullptr));
}

void ExchangeWriter::broadcast(Element control) {
  if (input_ != nullptr) {
    held_.push_back(std::move(control));
    return;
  }
  send_control(control);
}

void ExchangeWriter::send_control(const Element& control) {
  for (Lane& lane : lanes_) {
    if (lane.filling != nullptr) send_filling(lane);
    lane.sender->send(control);
  }
}

void ExchangeWriter::flush_to_idle_receivers() {
  for (Lane& lane : lanes_) {
    if (lane.filling != nullptr && lane.sender->receiver_is_idle()) send_filling(lane);
  }
}

}  // namespace weir
