// The actor that accepts jobs and remembers how they ended: the one that a cluster is known by.
#pragma once

#include <caf/all.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "actors/remote_message.h"

namespace weir {

// What a Dispatcher tells of the process it lives in.
struct MasterServices {
  ResourceManagerHandle resource_manager;
  BlobServerHandle blobs;  // null in the embedded cluster, whose jobs need none
};

// Spawns a JobManager per job. Keeps what is known of the last `history_max` jobs that ended.
class Dispatcher {
 public:
  static constexpr const char* name = "dispatcher";
  static constexpr std::size_t history_max = 100;
  // What comes in is passed on to workers, and back to clients together with what the job has become.
  static constexpr std::size_t submission_bytes_max = remote_message_bytes_max / 4;
  static constexpr std::size_t list_bytes_max = remote_message_bytes_max / 4;

  Dispatcher() = default;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  // JobManagers end with it.
  ~Dispatcher();

  void begin(DispatcherHandle::base* self, const EngineContext& engine, MasterServices services);
  [[nodiscard]] JobSubmitted submit(const SubmitJob& submission);
  [[nodiscard]] caf::result<JobOutcome> await(JobId job);
  void cancel(JobId job);
  void on_job_ended(const JobEnded& ended);
  void remind(const RemindJob& reminder);
  [[nodiscard]] caf::result<JobProgress> progress(const QueryProgress& query);
  [[nodiscard]] caf::result<JobAnswer> details(const QueryJob& query);
  [[nodiscard]] caf::result<PrintedRows> printed(const QueryPrinted& query);
  [[nodiscard]] JobList list() const;
  [[nodiscard]] caf::result<NodeList> list_nodes();
  [[nodiscard]] caf::result<LogText> read_log(const QueryLog& query);
  [[nodiscard]] MasterInfo master() const;
  [[nodiscard]] JobManagerFound find_job_manager(JobId job) const;
  void on_down(const caf::down_msg& down);

 private:
  // The JobManager's answer; if it has ended meanwhile, `of_ended` of what is kept of the job.
  template <class Answer, class Query>
  [[nodiscard]] caf::result<Answer> ask(const JobManagerHandle& job_manager, const Query& query,
                                        Answer (*of_ended)(const JobEnded&, const Query&));

  struct RunningJob {
    JobManagerHandle job_manager;
    std::string name;
    std::uint64_t fingerprint;
    ProcessingTime submitted_at;
    std::vector<caf::typed_response_promise<JobOutcome>> waiting;
  };

  DispatcherHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  MasterServices services_;
  std::map<JobId, RunningJob> running_;
  std::map<JobId, JobEnded> ended_;
  std::deque<JobId> ended_order_;
};

[[nodiscard]] DispatcherHandle::behavior_type dispatcher(
    DispatcherHandle::stateful_pointer<Dispatcher> self, const EngineContext* engine,
    MasterServices services);

}  // namespace weir
