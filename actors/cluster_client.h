// The cluster as seen from outside: by programs that submit jobs and by the tools.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/job_program.h"
#include "actors/job_status.h"
#include "base/result.h"
#include "net/endpoint.h"
#include "net/preamble.h"

namespace weir {

// A connection to a master. Not thread-safe. Every call blocks, at most for a timeout of some seconds (an upload: for one
// piece), and fails with Errc::cluster_unreachable if the master does not answer.
class ClusterClient {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ClusterClient>> connect(const Endpoint& master,
                                                                      const ClusterToken& token);
  ClusterClient(const ClusterClient&) = delete;
  ClusterClient& operator=(const ClusterClient&) = delete;
  ~ClusterClient();

  // Uploads what the master lacks of the files, by their path: then a job may name their content.
  [[nodiscard]] Result<std::string> upload(const std::string& path);
  [[nodiscard]] Result<void> submit(JobId job, const JobGraph& graph, const JobSettings& settings,
                                    const JobProgram& program);
  [[nodiscard]] Result<JobAnswer> details(JobId job);
  [[nodiscard]] Result<JobProgress> progress(JobId job);
  [[nodiscard]] Result<PrintedRows> printed(JobId job, std::uint64_t from);
  [[nodiscard]] Result<JobList> jobs();
  [[nodiscard]] Result<NodeList> nodes();
  // What a task process of a job wrote, its last part.
  [[nodiscard]] Result<std::string> log(const std::string& node, JobId job, AttemptId attempt,
                                        HostIndex host);
  // Returns when the request is on its way.
  [[nodiscard]] Result<void> cancel(JobId job);
  // The job that a person means: by id, by the beginning of an id, or by name if only one has it. Errc::no_such_job.
  [[nodiscard]] Result<JobId> find(const std::string& text);

 private:
  struct Connection;
  explicit ClusterClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace weir
