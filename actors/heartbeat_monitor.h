// Who has been silent for too long.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/time.h"

namespace weir {

// A failure detector with one timeout for all. Looked at regularly, and if the look itself comes late — this process was
// frozen, or its machine — nobody is judged by it: what they said meanwhile may still wait in our sockets.
//
// A pure state machine, not thread-safe.
template <class Id>
class HeartbeatMonitor {
 public:
  // `interval` is that of the looks; the timeout should be several of them.
  HeartbeatMonitor(Duration interval, Duration timeout) : interval_(interval), timeout_(timeout) {}

  void add(Id id, MonotonicTime now) {
    last_[id] = now;
    if (!last_look_) last_look_ = now;  // so that the first look can be late, too
  }
  void remove(Id id) { last_.erase(id); }
  // Any sign of life counts. False if the peer is not (or no longer) watched.
  bool beat(Id id, MonotonicTime now) {
    const auto found = last_.find(id);
    if (found == last_.end()) return false;
    found->second = now;
    return true;
  }
  // Those that are silent for longer than the timeout; they are no longer watched.
  [[nodiscard]] std::vector<Id> look(MonotonicTime now) {
    const bool late = last_look_ && now - *last_look_ > 2 * interval_;
    last_look_ = now;
    std::vector<Id> silent;
    for (auto at = last_.begin(); at != last_.end();) {
      if (late) at->second = now;
      if (now - at->second <= timeout_) {
        ++at;
      } else {
        silent.push_back(at->first);
        at = last_.erase(at);
      }
    }
    return silent;
  }
  // Requires that the peer is watched.
  [[nodiscard]] Duration silence(Id id, MonotonicTime now) const {
    return std::chrono::duration_cast<Duration>(now - last_.at(id));
  }

 private:
  Duration interval_;
  Duration timeout_;
  std::optional<MonotonicTime> last_look_;
  std::map<Id, MonotonicTime> last_;
};

}  // namespace weir
