// Lists, shows, follows and cancels the jobs of a cluster.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/cluster_client.h"
#include "actors/cluster_run.h"
#include "actors/inspection.h"
#include "actors/inspection_json.h"
#include "actors/inspection_text.h"
#include "actors/job_console.h"
#include "base/clock.h"
#include "base/standard_descriptors.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds look_again{50};

struct JobOptions {
  std::string cluster;
  std::string secret_file;
  std::string job;
  std::string task;
  bool all = false;
  bool json = false;
  bool no_wait = false;
};

int refuse(const std::string& text) {
  complain("job", text + " (--help lists commands and options)");
  return exit_usage;
}

int fail(const Error& error) {
  complain("job", error.message);
  return exit_failed;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? exit_finished : exit_failed;
}

int list(ClusterClient& cluster, const JobOptions& options) {
  const auto known = cluster.jobs();
  if (!known) return fail(known.error());
  std::vector<JobOutcome> wanted = known->running;
  if (options.all) wanted.insert(wanted.begin(), known->ended.begin(), known->ended.end());
  std::vector<JobDetails> jobs;
  for (const JobOutcome& job : wanted) {
    auto answer = cluster.details(job.job);
    if (!answer && answer.error().code == Errc::no_such_job) continue;  // forgotten meanwhile
    if (!answer) return fail(answer.error());
    jobs.push_back(*std::move(answer->details));
  }
  if (known->left_out > 0) {
    complain("job",
             counted(known->left_out, "older job") + " left out: the answer would be too large");
  }
  if (options.json) return print(jobs_json(jobs, JsonLayout::indented));
  if (jobs.empty() && !options.all && !known->ended.empty())
    return print("no job is running (--all lists those that have ended)\n");
  return print(jobs_text(jobs, system_clock().processing_time()));
}

int show(const JobAnswer& answer, const JobOptions& options) {
  const JobSample sample{answer.graph, {}, *answer.details};
  if (options.json) return print(job_json(sample, JsonLayout::indented));
  return print(job_text(sample, system_clock().processing_time()));
}

int exceptions(const JobAnswer& answer, const JobOptions& options) {
  if (options.json) return print(exceptions_json(*answer.details, JsonLayout::indented));
  return print(exceptions_text(answer.details->exceptions));
}

// The logs of all task processes, or of those that run the tasks named.
int logs(ClusterClient& cluster, const JobAnswer& answer, const JobOptions& options) {
  const JobDetails& job = *answer.details;
  std::set<std::uint32_t> hosts;
  if (options.task.empty()) {
    for (std::uint32_t host = 0; host < job.hosts.size(); ++host) hosts.insert(host);
  } else {
    const auto tasks = find_tasks(answer.graph, options.task);
    if (tasks.empty()) {
      std::string names;
      for (const JobVertex& vertex : answer.graph.vertices) names += " '" + vertex.name + "'";
      return fail({Errc::no_such_job, "TASK '" + options.task +
                                          "': the job has no such task; its vertices are" + names});
    }
    for (const TaskInfo& task : job.tasks) {
      const bool named = std::ranges::find(tasks, task.task) != tasks.end();
      if (named && task.host < job.hosts.size()) hosts.insert(task.host);
    }
  }
  if (hosts.empty()) return fail({Errc::no_such_job, "the job has no task processes yet"});
  int code = exit_finished;
  for (const std::uint32_t host : hosts) {
    const TaskHostInfo& info = job.hosts[host];
    std::printf("==> node %s, host %u, process %llu <==\n", info.node.c_str(), host,
                static_cast<unsigned long long>(info.process));
    const auto text = cluster.log(info.node, job.status.job, info.execution, info.index);
    if (!text) {
      std::fflush(stdout);
      code = fail({text.error().code, "log of host " + std::to_string(host) + " on node " +
                                          info.node + ": " + text.error().message});
      continue;
    }
    std::fputs(text->c_str(), stdout);
    if (!text->empty() && !text->ends_with('\n')) std::fputs("\n", stdout);
  }
  return std::fflush(stdout) == 0 ? code : exit_failed;
}

int wait(ClusterClient& cluster, const JobAnswer& answer) {
  const bool prints = std::ranges::any_of(answer.graph.nodes,
                                          [](const JobNode& node) { return node.kind == "print"; });
  return watch_job(cluster, "job", answer.details->status.job, prints, OnInterrupt::detach);
}

int cancel(ClusterClient& cluster, const JobAnswer& answer, const JobOptions& options) {
  const JobId job = answer.details->status.job;
  const std::string who = "job " + to_string(job);
  if (is_terminal(answer.details->status.state)) {
    complain("job",
             who + " has already ended: " + std::string(name_of(answer.details->status.state)));
    return exit_failed;
  }
  if (const auto sent = cluster.cancel(job); !sent) return fail(sent.error());
  if (options.no_wait) return exit_finished;
  while (true) {
    const auto now = cluster.details(job);
    if (!now) return fail(now.error());
    const JobOutcome& status = now->details->status;
    if (!is_terminal(status.state)) {
      std::this_thread::sleep_for(look_again);
      continue;
    }
    if (status.error) complain("job", status.error->message);
    if (status.state == JobState::canceled)
      return print(who + " CANCELED" + words_on_kept_checkpoint(status) + "\n");
    complain("job", who + " was not cancelled: it ended as " + std::string(name_of(status.state)));
    return exit_failed;
  }
}

int run_job(int argc, char** argv) {
  JobOptions options;
  CLI::App app("Lists, shows, follows and cancels the jobs of a cluster.", "job");
  app.set_version_flag("--version", std::string("job (weir " WEIR_VERSION ")"));
  app.fallthrough();  // options may stand behind the command
  app.add_option("--cluster", options.cluster, "the master's address")->type_name("HOST:PORT");
  app.add_option("--secret-file", options.secret_file, "the cluster's secret")->type_name("FILE");
  const auto command = [&](const char* name, const char* help, bool about_a_job) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->footer("Options: --cluster HOST:PORT, --secret-file FILE; see job --help.");
    if (about_a_job)
      sub->add_option("JOB", options.job, "id, beginning of an id (three digits or more), or name")
          ->required();
    return sub;
  };
  const auto with_json = [&](CLI::App* sub) {
    sub->add_flag("--json", options.json, "one JSON object instead of text");
    return sub;
  };
  CLI::App* list_command = with_json(command("list", "jobs that are running", false));
  list_command->add_flag("--all", options.all, "those that have ended, too");
  const CLI::App* show_command = with_json(command("show", "a job and its tasks", true));
  const CLI::App* wait_command =
      command("wait", "watch a job until it has ended; the exit code is the job's", true);
  const CLI::App* exceptions_command =
      with_json(command("exceptions", "what went wrong in a job, oldest first", true));
  CLI::App* logs_command = command("logs", "what the task processes of a job have logged", true);
  logs_command->add_option(
      "TASK", options.task,
      "only the process of this task: \"count (2/4)\", the name of a vertex or step, "
      "or vertex/subtask as in 2/0");
  CLI::App* cancel_command = command("cancel", "cancel a job, and wait until it has ended", true);
  cancel_command->add_flag("--no-wait", options.no_wait, "only ask for it");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return exit_finished;
  } catch (const CLI::CallForVersion&) {
    std::puts("job (weir " WEIR_VERSION ")");
    return exit_finished;
  } catch (const CLI::ParseError& e) {
    return refuse(e.what());
  }
  if (app.get_subcommands().empty())
    return refuse("the command is missing: list, show, wait, exceptions, logs or cancel");
  if (app.get_subcommands().size() > 1)
    return refuse("one command at a time: " + app.get_subcommands()[0]->get_name() + " or " +
                  app.get_subcommands()[1]->get_name());
  if (options.cluster.empty()) return refuse("--cluster is missing: the master's HOST:PORT");

  const auto cluster = connect_to_cluster("job", options.cluster, options.secret_file);
  if (!cluster) {
    return cluster.error().code == Errc::bad_option ? refuse(cluster.error().message)
                                                    : fail(cluster.error());
  }
  if (list_command->parsed()) return list(**cluster, options);

  const auto job = (*cluster)->find(options.job);
  if (!job) return fail({job.error().code, "JOB: " + job.error().message});
  const auto answer = (*cluster)->details(*job);
  if (!answer) return fail(answer.error());
  if (show_command->parsed()) return show(*answer, options);
  if (wait_command->parsed()) return wait(**cluster, *answer);
  if (exceptions_command->parsed()) return exceptions(*answer, options);
  if (logs_command->parsed()) return logs(**cluster, *answer, options);
  return cancel(**cluster, *answer, options);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::open_missing_standard_descriptors();
  return weir::run_job(argc, argv);
}
