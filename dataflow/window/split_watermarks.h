// Merges the watermarks of the splits that one subtask reads into one that never goes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "dataflow/split_change.h"
#include "dataflow/split_overview.h"
#include "dataflow/window/idleness_timer.h"

namespace weir {

// What one event led to: an active status goes before the watermark, an idle one behind it.
struct MergedWatermark {
  std::optional<EventTime> watermark;
  std::optional<bool> idle;
  friend bool operator==(const MergedWatermark&, const MergedWatermark&) = default;
};

// Each split has a generator and an idleness timer of its own. The result is the least over the splits that are begun, not ended and not
// idle, as in Apache Flink's WatermarkOutputMultiplexer: a split holds it from its begin until its first record, or until it is idle.
// One that wakes far behind holds it, too, and is not passed over as a channel is (WatermarkValve): what the split still has is to be
// late no more than it is already. When all are idle, the largest watermark of all is let through first, in whatever order they fell
// silent.
//
// Records of no split have a generator, too. It takes part once it has had one, and while there is no split: so a subtask that has none
// holds the watermark where it is, and becomes idle.
//
// A pure state machine, not thread-safe. O(1) per batch of a split that does not hold the result, else O(splits).
template <class Generator>
class SplitWatermarks {
 public:
  using MakeGenerator = std::function<Generator()>;

  // Requires that a timeout is above 0.
  SplitWatermarks(MakeGenerator make, std::optional<Duration> idle_after)
      : make_(std::move(make)),
        idle_after_(idle_after),
        unsplit_(&splits_.emplace(SplitIndex{}, new_split({})).first->second),
        last_(unsplit_) {}
  SplitWatermarks(const SplitWatermarks&) = delete;
  SplitWatermarks& operator=(const SplitWatermarks&) = delete;

  MergedWatermark begin(SplitIndex split, std::shared_ptr<const std::string> id) {
    splits_.insert_or_assign(split, new_split(std::move(id)));
    overview_changed_ = true;
    last_ = unsplit_;
    last_index_ = {};
    return settle();
  }
  // One that has not begun is nothing.
  MergedWatermark end(SplitIndex split) {
    if (split == SplitIndex{} || splits_.erase(split) == 0) return {};
    overview_changed_ = true;
    last_ = unsplit_;
    last_index_ = {};
    if (splits_.size() == 1 && unsplit_->timer)
      unsplit_->timer->on_record();  // from now on, there is none
    return settle();
  }

  // To be told of records, and on_records() of each batch of them. Valid until another call with another split. A split that has not
  // begun begins.
  [[nodiscard]] Generator& generator_of(SplitIndex split) {
    if (split != last_index_) {
      const auto found = splits_.find(split);
      last_ = found != splits_.end() ? &found->second
                                     : &splits_.emplace(split, new_split({})).first->second;
      last_index_ = split;
    }
    return last_->generator;
  }
  // Requires that generator_of() was asked for their split last.
  MergedWatermark on_records() {
    Split& split = *last_;
    split.has_records = true;
    if (split.timer) split.timer->on_record();
    const bool held = split.watermark <= current_;
    split.watermark = std::max(split.watermark, split.generator.current());
    const bool woke = std::exchange(split.idle, false);
    furthest_ = std::max(furthest_, split.watermark);
    if (!held && !woke && !idle_) return {};
    return settle();
  }

  // Of strategies with idleness: when look() is to be called next. Nothing before the first time.
  [[nodiscard]] std::optional<ProcessingTime> next_look() const {
    return unsplit_->timer ? unsplit_->timer->next_look() : std::nullopt;
  }
  // Looks who has fallen silent. Requires idleness. While the source is paused, silence says nothing.
  MergedWatermark look(ProcessingTime now, bool paused = false) {
    if (!takes_part(*unsplit_)) unsplit_->timer->on_record();
    for (auto& [index, split] : splits_) {
      if (paused) {
        split.timer->skip(now);
      } else {
        split.idle = split.timer->look(now);
      }
    }
    return settle();
  }

  // The last one let through.
  [[nodiscard]] EventTime current() const { return current_; }
  [[nodiscard]] bool is_idle() const { return idle_; }

  // For people. O(splits), but for the times alone.
  [[nodiscard]] SplitOverview overview() const {
    SplitOverview overview{.splits = static_cast<std::uint32_t>(splits_.size() - 1),
                           .least = least_,
                           .furthest = furthest_};
    const Split* holder = nullptr;
    for (const auto& [index, split] : splits_) {
      if (!takes_part(split)) continue;
      if (!split.idle) {
        if (holder == nullptr || split.watermark < holder->watermark) holder = &split;
        continue;
      }
      if (split.id == nullptr) continue;
      ++overview.idle;
      if (overview.idle_ids.size() < SplitOverview::idle_ids_max)
        overview.idle_ids.push_back(shown(*split.id));
    }
    if (holder != nullptr && holder->id != nullptr) overview.holder = shown(*holder->id);
    return overview;
  }
  [[nodiscard]] EventTime least() const { return least_; }
  [[nodiscard]] EventTime furthest() const { return furthest_; }
  // Whether it has changed since this was asked last, but for its times.
  [[nodiscard]] bool take_overview_changed() { return std::exchange(overview_changed_, false); }

 private:
  struct Split {
    Generator generator;
    std::optional<IdlenessTimer> timer;
    std::shared_ptr<const std::string> id;
    EventTime watermark = EventTime::min();
    bool idle = false;
    bool has_records = false;
  };

  [[nodiscard]] Split new_split(std::shared_ptr<const std::string> id) const {
    Split split{.generator = make_(), .timer = {}, .id = std::move(id)};
    if (idle_after_) split.timer.emplace(*idle_after_);
    return split;
  }

  [[nodiscard]] bool takes_part(const Split& split) const {
    return &split != unsplit_ || split.has_records || splits_.size() == 1;
  }

  static std::string shown(const std::string& id) {
    constexpr std::size_t shown_max = 200;
    return id.size() <= shown_max ? id : id.substr(0, shown_max) + "…";
  }

  MergedWatermark settle() {
    EventTime largest = EventTime::min();  // of idle ones, too
    const Split* holder = nullptr;
    std::size_t idle_count = 0;
    furthest_ = EventTime::min();
    for (const auto& [index, split] : splits_) {
      if (!takes_part(split)) continue;
      largest = std::max(largest, split.watermark);
      if (split.idle) {
        ++idle_count;
        continue;
      }
      furthest_ = std::max(furthest_, split.watermark);
      if (holder == nullptr || split.watermark < holder->watermark) holder = &split;
    }
    if (std::exchange(holder_, holder) != holder ||
        std::exchange(idle_count_, idle_count) != idle_count)
      overview_changed_ = true;
    least_ = holder == nullptr ? EventTime::min() : holder->watermark;
    const bool all_idle = holder == nullptr;
    MergedWatermark merged;
    if (std::exchange(idle_, all_idle) != all_idle) merged.idle = all_idle;
    const EventTime reached = all_idle ? largest : least_;
    if (reached > current_) merged.watermark = current_ = reached;
    return merged;
  }

  MakeGenerator make_;
  std::optional<Duration> idle_after_;
  std::map<SplitIndex, Split> splits_;  // with one for records of no split
  Split* unsplit_;
  Split* last_;  // whose records came last, of last_index_
  SplitIndex last_index_{};
  EventTime current_ = EventTime::min();
  bool idle_ = false;
  // What people are shown.
  const Split* holder_ = nullptr;  // to be compared only: it may have ended
  std::size_t idle_count_ = 0;
  EventTime least_ = EventTime::min();
  EventTime furthest_ = EventTime::min();
  bool overview_changed_ = false;
};

}  // namespace weir
