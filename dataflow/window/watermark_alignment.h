// Keeps sources whose streams meet from getting ahead of each other in event time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/time.h"

namespace weir {

// What a watermark strategy says: the source of the stream is not read from while its watermark is more than `max_drift` beyond the least of
// its group. A group is all streams of the job with that name.
struct WatermarkAlignment {
  std::string group;
  Duration max_drift{0};
  Duration update_interval = std::chrono::seconds{1};  // how often each subtask says how far it is

  // What is wrong, for people.
  [[nodiscard]] std::optional<std::string> mistake() const {
    const std::string call = "with_alignment(\"" + group.substr(0, 40) + "\", …) ";
    if (group.empty())
      return call +
             "has an empty group: give it a name, the same for the streams that wait for each "
             "other";
    if (group.size() > limits::name_bytes_max) {
      return call + "has a group's name of " + std::to_string(group.size()) + " bytes: at most " +
             std::to_string(limits::name_bytes_max) + " are possible";
    }
    if (max_drift < Duration{0}) {
      return call + "has a drift of " + std::to_string(max_drift.count()) +
             " ms: it must not be below 0";
    }
    if (update_interval <= Duration{0}) {
      return call + "has an update interval of " + std::to_string(update_interval.count()) +
             " ms: it must be above 0";
    }
    return {};
  }
};

// How far the watermark of a step is, or of its group.
struct StepWatermark {
  NodeId step;
  EventTime time;
  friend bool operator==(const StepWatermark&, const StepWatermark&) = default;
};

// A subtask of a step with such a strategy.
struct AlignmentMember {
  NodeId step;
  SubtaskIndex subtask;
  friend constexpr auto operator<=>(const AlignmentMember&, const AlignmentMember&) = default;
};

// Collects how far the members of groups are, as Apache Flink's SourceCoordinator does. One per job: groups span sources. A pure state
// machine, not thread-safe. O(log members of the group) per call.
class WatermarkAligner {
 public:
  // EventTime::max(): it is idle, and holds nobody. The first report makes it a member.
  void report(const std::string& group, AlignmentMember member, EventTime reached) {
    remove(member);
    reached_[group].insert(reached);
    members_.emplace(member, Member{group, reached});
  }
  // It has ended, and holds nobody.
  void remove(AlignmentMember member) {
    const auto found = members_.find(member);
    if (found == members_.end()) return;
    const auto group = reached_.find(found->second.group);
    group->second.erase(group->second.find(found->second.reached));
    if (group->second.empty()) reached_.erase(group);
    members_.erase(found);
  }
  // The least that a member has reported. EventTime::max() of a group without members.
  [[nodiscard]] EventTime least(const std::string& group) const {
    const auto found = reached_.find(group);
    return found == reached_.end() ? EventTime::max() : *found->second.begin();
  }

 private:
  struct Member {
    std::string group;
    EventTime reached;
  };
  std::map<AlignmentMember, Member> members_;
  std::map<std::string, std::multiset<EventTime>> reached_;  // by group
};

// Up to where a source may be read whose group has come so far.
[[nodiscard]] constexpr EventTime allowed_watermark(EventTime least, Duration max_drift) {
  return least + max_drift;
}

}  // namespace weir
