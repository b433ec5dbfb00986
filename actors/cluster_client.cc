#include "actors/cluster_client.h"

#include <caf/all.hpp>
#include <fstream>
#include <utility>
#include <vector>

#include "actors/blob_server.h"
#include "actors/blocking_request.h"
#include "actors/dispatcher.h"
#include "actors/messages.h"
#include "actors/networked_system_config.h"
#include "actors/remote_message.h"
#include "base/log.h"
#include "base/options.h"
#include "base/random.h"
#include "base/system_error.h"
#include "net/blob_store.h"
#include "net/gate.h"

namespace weir {
namespace {

constexpr std::chrono::seconds answer_timeout{10};
constexpr std::size_t prefix_min = 3;  // digits of an id that mean a job

}  // namespace

struct ClusterClient::Connection {
  Connection(const Endpoint& to, const ClusterToken& token)
      : master(to),
        config({.threads = 1, .connection_timeout = 2 * answer_timeout}),
        system(config),
        gate(system, token, Logger()) {}

  template <class Answer, class Handle, class Message>
  Result<Answer> ask(const Handle& whom, Message message) {
    return ask_and_wait<Answer>(system, whom, "the master at " + to_string(master), answer_timeout,
                                std::move(message));
  }

  Endpoint master;
  NetworkedSystemConfig config;
  caf::actor_system system;
  Gate gate;
  DispatcherHandle dispatcher;
  MasterInfo info;
};

Result<std::unique_ptr<ClusterClient>> ClusterClient::connect(const Endpoint& master,
                                                              const ClusterToken& token) {
  auto connection = std::make_unique<Connection>(master, token);
  const auto found = connection->gate.connect(master.host, master.port);
  if (!found) return Error{Errc::cluster_unreachable, found.error().message};
  connection->dispatcher = caf::actor_cast<DispatcherHandle>(*found);
  auto info = connection->ask<MasterInfo>(connection->dispatcher, QueryMaster{});
  if (!info) return info.error();
  connection->info = *std::move(info);
  if (connection->info.version != WEIR_VERSION) {
    return Error{Errc::cluster_unreachable,
                 "the master at " + to_string(master) + " runs weir " + connection->info.version +
                     ", this is weir " WEIR_VERSION ": build the program against the same"};
  }
  return std::unique_ptr<ClusterClient>(new ClusterClient(std::move(connection)));
}

ClusterClient::ClusterClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
ClusterClient::~ClusterClient() = default;

Result<std::string> ClusterClient::upload(const std::string& path) {
  const auto id = hash_file(path);
  if (!id) return id.error();
  const std::string name = to_string(*id);
  const auto missing = connection_->ask<MissingBlobs>(connection_->info.blobs, FindBlobs{{name}});
  if (!missing) return missing.error();
  if (missing->ids.empty()) return name;

  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return system_error("cannot open " + path, errno, Errc::input_unreadable);
  const auto total = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  StoreChunk chunk{name, fresh_seed(), total, true, 0, {}};
  do {
    const auto size = std::min<std::uint64_t>(BlobServer::chunk_bytes, total - chunk.offset);
    chunk.bytes.resize(size);
    file.read(reinterpret_cast<char*>(chunk.bytes.data()), static_cast<std::streamsize>(size));
    if (!file) return Error{Errc::input_unreadable, path + ": cannot be read to its end"};
    const auto stored = connection_->ask<ChunkStored>(connection_->info.blobs, chunk);
    if (!stored) return stored.error();
    if (stored->error) return *stored->error;
    chunk.offset += size;
  } while (chunk.offset < total);
  return name;
}

Result<void> ClusterClient::submit(JobId job, const JobGraph& graph, const JobSettings& settings,
                                   const JobProgram& program) {
  SubmitJob submission{job, graph, settings, program};
  if (const std::size_t bytes = remote_message_bytes(submission);
      bytes > Dispatcher::submission_bytes_max) {
    return Error{Errc::too_large,
                 "the job's plan and options have " + size_text(bytes) + ": at most " +
                     size_text(Dispatcher::submission_bytes_max) +
                     " are possible; put long values into a file and job.ship() it"};
  }
  const auto answer =
      connection_->ask<JobSubmitted>(connection_->dispatcher, std::move(submission));
  if (!answer) return answer.error();
  if (answer->error) return *answer->error;
  return {};
}

Result<JobAnswer> ClusterClient::details(JobId job) {
  auto answer = connection_->ask<JobAnswer>(connection_->dispatcher, QueryJob{job});
  if (answer && !answer->details)
    return Error{Errc::no_such_job, "the master knows no job " + to_string(job)};
  return answer;
}

Result<JobProgress> ClusterClient::progress(JobId job) {
  return connection_->ask<JobProgress>(connection_->dispatcher, QueryProgress{job});
}

Result<PrintedRows> ClusterClient::printed(JobId job, std::uint64_t from) {
  return connection_->ask<PrintedRows>(connection_->dispatcher, QueryPrinted{job, from});
}

Result<JobList> ClusterClient::jobs() {
  return connection_->ask<JobList>(connection_->dispatcher, ListJobs{});
}

Result<NodeList> ClusterClient::nodes() {
  return connection_->ask<NodeList>(connection_->dispatcher, ListNodes{});
}

Result<std::string> ClusterClient::log(const std::string& node, JobId job, AttemptId attempt,
                                       HostIndex host) {
  auto answer =
      connection_->ask<LogText>(connection_->dispatcher, QueryLog{node, job, attempt, host, 0});
  if (!answer) return answer.error();
  if (answer->error) return *answer->error;
  return std::move(answer->text);
}

Result<void> ClusterClient::cancel(JobId job) {
  caf::anon_send(connection_->dispatcher, CancelJob{job});
  // An answer to a later message says that this one has left.
  const auto seen = details(job);
  if (!seen) return seen.error();
  return {};
}

Result<JobId> ClusterClient::find(const std::string& text) {
  const auto all = jobs();
  if (!all) return all.error();
  std::vector<JobOutcome> found;
  for (const auto* list : {&all->running, &all->ended}) {
    for (const JobOutcome& job : *list) {
      if (to_string(job.job) == text) return job.job;
      if (text.size() >= prefix_min && to_string(job.job).starts_with(text)) found.push_back(job);
    }
  }
  if (found.empty()) {
    for (const JobOutcome& job : all->running) {
      if (job.name == text) found.push_back(job);
    }
  }
  if (found.empty()) {
    for (const JobOutcome& job : all->ended) {
      if (job.name == text) found.push_back(job);
    }
    if (found.size() > 1) found.erase(found.begin(), found.end() - 1);  // the latest of that name
  }
  if (found.size() == 1) return found.front().job;
  constexpr std::string_view digits = "0123456789abcdef";
  const bool may_be_prefix = text.size() < prefix_min && !text.empty() &&
                             text.find_first_not_of(digits) == std::string::npos;
  if (found.empty() && may_be_prefix) {
    return Error{Errc::no_such_job, "'" + text +
                                        "' is no job's name, and too short for the beginning of an "
                                        "id: three digits or more are"};
  }
  if (found.empty()) {
    return Error{Errc::no_such_job, "no job '" + text + "' is known to the master at " +
                                        to_string(connection_->master) +
                                        " (job list --all shows those that are)"};
  }
  std::string ids;
  for (const JobOutcome& job : found) ids += " " + to_string(job.job);
  return Error{Errc::no_such_job, "'" + text + "' may mean any of" + ids};
}

}  // namespace weir
