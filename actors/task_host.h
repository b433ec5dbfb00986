// The actor that runs the tasks of one job on one worker, and speaks for them.
#pragma once

#include <caf/all.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "actors/print_buffer.h"
#include "actors/restore_point.h"
#include "actors/task_probe.h"
#include "base/error_text.h"
#include "dataflow/plan/physical_plan.h"
#include "net/data_plane.h"

namespace weir {

// Where a TaskHost's neighbours are: makes the data plane that listens for them.
struct ListeningDataPlane {
  std::unique_ptr<DataPlane> plane;
  std::string address;  // what peers are to dial, "host:port"
};
using DataPlaneFactory = std::function<Result<ListeningDataPlane>(DataReceiver&)>;

// What a TaskHost is given at birth, besides the engine's seams.
struct TaskHostOptions {
  JobId job;
  AttemptId attempt;
  HostIndex host;
  std::shared_ptr<const PhysicalPlan> plan;
  JobSettings settings;
  JobManagerHandle job_manager;
  std::uint64_t process = 0;
  DataPlaneFactory make_data_plane = {};      // empty: all tasks of the job are in this process
  std::shared_ptr<PrintBuffer> printed = {};  // rows on their way to the client; may be null
  // Whether nothing listens any more where the master was; waits for a second at most. Without it, that is taken for granted
  // of a JobManager that went down.
  std::function<bool()> master_is_gone = {};
};

// Hands what comes over the data plane to the tasks it is for, on the network's thread.
class FrameRouter final : public DataReceiver {
 public:
  void begin(TaskHostHandle host, AttemptId attempt);
  // Before any peer can have been told that they are there.
  void add(TaskId task, TaskHandle handle);
  void on_element(HostIndex from, ElementFrame frame) override;
  void on_credit(HostIndex from, CreditFrame frame) override;
  void on_peer_lost(HostIndex peer, Error error) override;

 private:
  [[nodiscard]] TaskHandle find(TaskId task);

  std::mutex mutex_;  // over tasks_, which grows while peers may be connected
  std::map<TaskId, TaskHandle> tasks_;
  TaskHostHandle host_;
  AttemptId attempt_;
};

// A host's end of the network. Shared by its tasks, of which one may still be in a step when the host has ended.
struct Network {
  FrameRouter router;  // outlives the plane, which calls it
  std::unique_ptr<DataPlane> plane;
};

// Spawns tasks and coordinators on the JobManager's word, wires them, passes on what they report, and reports their
// figures; names tasks that hold their thread for too long in user code. Ends with its JobManager: if that was lost, its tasks
// are cancelled first and its output is removed, unless a checkpoint needs it that outlives the job.
class TaskHost {
 public:
  static constexpr const char* name = "task-host";

  TaskHost() = default;
  TaskHost(const TaskHost&) = delete;
  TaskHost& operator=(const TaskHost&) = delete;
  // No task or coordinator outlives its TaskHost.
  ~TaskHost();

  void begin(TaskHostHandle::base* self, const EngineContext& engine, TaskHostOptions options);
  void open_coordinators(const OpenCoordinators& open);
  void deploy(const DeployTasks& deployment);
  void start(const StartTasks& start);
  void cancel(const CancelTasks& cancel);
  void on_task_changed(TaskChanged change);
  void request_split(const RequestSplit& request);
  void assign(const SplitAssigned& answer);
  void commit(const CommitOutput& commit);
  void abort(const AbortOutput& abort);
  void trigger(const TriggerCheckpoint& trigger);
  void inject(const InjectBarrier& barrier);
  void align(const AlignWatermarks& answer);
  void end_checkpoint(const EndCheckpoint& end);
  void on_peer_lost(const PeerLost& lost);
  void on_aborted(const OutputAborted& aborted);
  void on_down(const caf::down_msg& down);
  void on_end(EndTaskHost::Why why);
  void report();
  // Passes on to the JobManager what a coordinator says.
  template <class Message>
  void forward(Message message) {
    if constexpr (requires { *message.error; }) {
      if (message.error) message.error = shortened(*std::move(message.error));
    }
    self_->send(options_.job_manager, std::move(message));
  }
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == options_.attempt; }

 private:
  // Of its own accord. Without a JobManager nobody else removes what sinks have written and nobody can see.
  enum class Ending : std::uint8_t { no, worker_gone, job_manager_gone };

  struct Task {
    TaskHandle handle;
    std::shared_ptr<TaskProbe> probe;
    std::set<HostIndex> peers;  // other hosts that it exchanges data with
    bool ended = false;
    std::int64_t reported_step_ns = 0;  // of the step that was last named as stuck
  };

  void spawn_task(TaskId id);
  void wire(TaskId id, const std::map<TaskId, HostIndex>& places);
  void name_stuck_tasks();
  void begin_ending(Ending ending);
  void advance_ending();
  void abort_output();
  [[nodiscard]] bool has_ended_all_tasks() const;
  [[nodiscard]] bool outlives_its_job() const;
  void send_report();
  [[nodiscard]] std::string name_of_node(NodeId node) const;
  [[nodiscard]] Result<RestorePoint> restore_point(const std::string& directory);

  TaskHostHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  TaskHostOptions options_;
  Logger log_;
  std::shared_ptr<Network> network_;
  std::map<TaskId, Task> tasks_;
  std::map<NodeId, CoordinatorHandle> coordinators_;
  StateWriterHandle state_writer_;       // of a job with checkpoints
  std::optional<RestorePoint> restore_;  // once it is read
  bool started_ = false;
  Ending ending_ = Ending::no;
  bool waits_for_others_ = false;             // when its own tasks have ended
  std::optional<std::set<NodeId>> aborting_;  // what has not answered
};

[[nodiscard]] TaskHostHandle::behavior_type task_host(
    TaskHostHandle::stateful_pointer<TaskHost> self, const EngineContext* engine,
    TaskHostOptions options);

}  // namespace weir
