// What every actor of a process is given: the seams to the world.
#pragma once

#include <caf/all.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "actors/messages.h"
#include "actors/own_threads.h"
#include "base/clock.h"
#include "base/log.h"

namespace weir {

// Decides the fate of messages between tasks, for tests. The default lets everything through.
class FaultInjection {
 public:
  virtual ~FaultInjection() = default;
  [[nodiscard]] virtual bool loses_credit(const ReturnCredit&) { return false; }
  [[nodiscard]] virtual bool loses_acknowledgement(const TaskChanged&) { return false; }
  [[nodiscard]] virtual bool loses_checkpoint_acknowledgement(const AcknowledgeCheckpoint&) {
    return false;
  }
  // Between a task and its JobManager, of sources that wait for each other.
  [[nodiscard]] virtual bool loses_report(const ReportWatermarks&) { return false; }
  [[nodiscard]] virtual bool loses_answer(const AlignWatermarks&) { return false; }
  // Whether state is written later than it could be, as by a slow disk.
  [[nodiscard]] virtual bool delays_writing() { return false; }
  // Whether the storage of checkpoints says nothing when it is asked for the last one, as one that hangs.
  [[nodiscard]] virtual bool loses_found_checkpoints() { return false; }
  // Whether a deployment is sent twice, as a retry would.
  [[nodiscard]] virtual bool duplicates(const DeployTasks&) { return false; }
  // Planted bugs, which the simulation must find: a TaskHost that deploys again what it has deployed; a ResourceManager
  // that takes the heartbeat of any registration for a current one.
  [[nodiscard]] virtual bool forgets_what_it_deployed() { return false; }
  [[nodiscard]] virtual bool ignores_registrations() { return false; }
  // Planted bugs of checkpoints: a committer is told to commit twice; a restart begins from the checkpoint before the
  // last; a reader takes a split that comes behind a barrier as if it came before; what sinks have prepared is
  // acknowledged and not synced.
  [[nodiscard]] virtual bool commits_twice() { return false; }
  [[nodiscard]] virtual bool restores_the_one_before() { return false; }
  [[nodiscard]] virtual bool splits_overtake_barriers() { return false; }
  [[nodiscard]] virtual bool acknowledges_what_is_not_durable() { return false; }
  // A task asks before each step; an error fails it.
  [[nodiscard]] virtual std::optional<Error> fails(TaskId) { return std::nullopt; }
};

// Outlives all actors of the process.
struct EngineContext {
  const Clock* clock = &system_clock();
  Logger logger;
  // Whether actors that may block, or must answer while others do, get threads of their own. Off in
  // simulation.
  bool threads = true;
  // Those that have; shared with them, who may outlive the context by a moment.
  std::shared_ptr<OwnThreads> own_threads = std::make_shared<OwnThreads>();
  FaultInjection* faults = nullptr;  // may be null
  // Where checkpoints go instead of files, in simulation; null: into the directory that the job names.
  std::shared_ptr<SnapshotStorage> snapshot_storage = {};
  // How often task hosts report their figures; 0: only at the end of a task.
  Duration report_interval{200};
  // Between processes: how often signs of life are sent and looked for, and after what silence a peer counts as lost.
  // 0: never, for actors of one process die together.
  Duration heartbeat_interval{0};
  Duration heartbeat_timeout{10'000};
};

// The one place that decides whether an actor has a thread of its own.
enum class Placement : std::uint8_t { shared, own_thread };

template <class Handle, class Spawner, class Fn, class... Args>
Handle spawn_actor(Spawner& spawner, const EngineContext& engine, Placement placement, Fn fn,
                   Args&&... args) {
  if (placement == Placement::own_thread && engine.threads) {
    Handle actor = spawner.template spawn<caf::detached>(fn, std::forward<Args>(args)...);
    OwnThreads::add(engine.own_threads, actor);
    return actor;
  }
  return spawner.spawn(fn, std::forward<Args>(args)...);
}

}  // namespace weir
