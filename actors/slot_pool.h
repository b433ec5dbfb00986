// Who has how many slots, who uses them, and who waits for some.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace weir {

using TaskManagerId = StrongId<struct TaskManagerTag, std::uint64_t>;

// Grants requests whole, in the order they came; a later, smaller one does not overtake one that all slots together would
// satisfy, so that a large job is not starved by small ones. One that wants more than there are in total holds nobody up:
// it might wait for a worker that never comes. When there are enough it has the place again that it had. What a job has
// already counts for it: one that lost half of its slots and waits for as many holds nobody up.
// A pure state machine, not thread-safe.
class SlotPool {
 public:
  struct Grant {
    JobId job;
    std::vector<TaskManagerId> slots;  // an entry per slot
  };

  // Each returns the requests that can be granted now.
  [[nodiscard]] std::vector<Grant> add_task_manager(TaskManagerId id, std::uint32_t slots) {
    task_managers_[id] = {slots, slots};
    return grant_waiting();
  }
  [[nodiscard]] std::vector<Grant> remove_task_manager(TaskManagerId id) {
    task_managers_.erase(id);
    return grant_waiting();
  }
  [[nodiscard]] std::vector<Grant> request(JobId job, std::uint32_t count) {
    WEIR_CHECK(count > 0);
    waiting_.push_back({job, count});
    return grant_waiting();
  }
  // The job's slots become free, its open requests are withdrawn.
  [[nodiscard]] std::vector<Grant> release(JobId job) {
    std::erase_if(waiting_, [job](const Request& request) { return request.job == job; });
    for (const TaskManagerId id : used_[job]) {
      const auto found = task_managers_.find(id);
      if (found != task_managers_.end()) ++found->second.free;
    }
    used_.erase(job);
    return grant_waiting();
  }

  // Who has slots that the job uses; once each.
  [[nodiscard]] std::set<TaskManagerId> used_by(JobId job) const {
    const auto found = used_.find(job);
    if (found == used_.end()) return {};
    return {found->second.begin(), found->second.end()};
  }

  // Of an open request.
  struct Waiting {
    std::uint32_t count = 0;
    bool fits_total = false;      // it could be granted if all slots were free
    std::optional<JobId> behind;  // whose request must be granted before
    // Who keeps slots without using them, since it waits for more itself.
    std::optional<JobId> kept_by;
  };
  // Of the job's first one. Nothing if it has none.
  [[nodiscard]] std::optional<Waiting> waiting(JobId job) const {
    std::optional<JobId> ahead;
    for (const Request& request : waiting_) {
      if (request.job == job) {
        const bool fits = fits_total(request);
        return Waiting{request.count, fits, fits ? ahead : std::nullopt, keeper_beside(job)};
      }
      if (!ahead && fits_total(request)) ahead = request.job;
    }
    return {};
  }

  // Requires that it is known.
  [[nodiscard]] std::uint32_t free_slots(TaskManagerId id) const {
    return task_managers_.at(id).free;
  }
  [[nodiscard]] std::uint32_t free_slots() const { return sum(&TaskManagerSlots::free); }
  [[nodiscard]] std::uint32_t total_slots() const { return sum(&TaskManagerSlots::total); }

 private:
  struct TaskManagerSlots {
    std::uint32_t total;
    std::uint32_t free;
  };
  struct Request {
    JobId job;
    std::uint32_t count;
  };

  std::vector<Grant> grant_waiting() {
    std::vector<Grant> grants;
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      if (!fits_total(*next)) {
        ++next;
        continue;
      }
      if (next->count > free_slots()) break;
      grants.push_back({next->job, take(next->count)});
      auto& used = used_[next->job];
      used.insert(used.end(), grants.back().slots.begin(), grants.back().slots.end());
      next = waiting_.erase(next);
    }
    return grants;
  }

  [[nodiscard]] bool fits_total(const Request& request) const {
    return request.count + kept_slots(request.job) <= total_slots();
  }

  [[nodiscard]] std::uint64_t kept_slots(JobId job) const {
    const auto used = used_.find(job);
    if (used == used_.end()) return 0;
    const auto kept = std::ranges::count_if(
        used->second, [this](TaskManagerId id) { return task_managers_.contains(id); });
    return static_cast<std::uint64_t>(kept);
  }

  [[nodiscard]] std::optional<JobId> keeper_beside(JobId job) const {
    for (const Request& request : waiting_) {
      if (request.job != job && kept_slots(request.job) > 0) return request.job;
    }
    return std::nullopt;
  }

  // From the TaskManager with most free slots each time, so that jobs spread. Requires that there
  // are enough.
  std::vector<TaskManagerId> take(std::uint32_t count) {
    std::vector<TaskManagerId> slots;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto most = std::ranges::max_element(
          task_managers_, {}, [](const auto& entry) { return entry.second.free; });
      WEIR_CHECK(most->second.free > 0);
      --most->second.free;
      slots.push_back(most->first);
    }
    return slots;
  }

  std::uint32_t sum(std::uint32_t TaskManagerSlots::*field) const {
    std::uint32_t total = 0;
    for (const auto& [id, slots] : task_managers_) total += slots.*field;
    return total;
  }

  std::map<TaskManagerId, TaskManagerSlots> task_managers_;
  std::deque<Request> waiting_;
  std::map<JobId, std::vector<TaskManagerId>> used_;
};

}  // namespace weir
