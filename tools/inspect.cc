// Shows what a cluster and its jobs do: nodes, jobs, topology, channels; and what holds a job up.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "actors/checkpoint_inspection.h"
#include "actors/cluster_client.h"
#include "actors/cluster_run.h"
#include "actors/diagnosis.h"
#include "actors/inspection_json.h"
#include "actors/inspection_text.h"
#include "actors/job_console.h"
#include "base/clock.h"
#include "base/standard_descriptors.h"

namespace weir {
namespace {

// Between two looks at a job, and between two pictures of --watch. Tasks report five times as often.
constexpr std::chrono::seconds interval{1};

struct InspectOptions {
  std::string cluster;
  std::string secret_file;
  std::string job;
  bool json = false;
  bool watch = false;

  [[nodiscard]] JsonLayout layout() const {
    return watch ? JsonLayout::one_line : JsonLayout::indented;
  }
};

// What to show now; `ended`: it will not change any more.
struct Picture {
  std::string text;
  bool ended = false;
};
using Look = std::function<Result<Picture>()>;

Result<std::vector<JobDetails>> all_jobs(ClusterClient& cluster) {
  const auto list = cluster.jobs();
  if (!list) return list.error();
  if (list->left_out > 0) {
    complain("inspect",
             counted(list->left_out, "older job") + " left out: the answer would be too large");
  }
  std::vector<JobDetails> jobs;
  for (const auto* part : {&list->ended, &list->running}) {
    for (const JobOutcome& job : *part) {
      auto answer = cluster.details(job.job);
      if (!answer && answer.error().code == Errc::no_such_job) continue;  // forgotten meanwhile
      if (!answer) return answer.error();
      jobs.push_back(settled(*std::move(answer->details)));
    }
  }
  return jobs;
}

// The job that is named, or the only one that runs.
Result<JobId> choose_job(ClusterClient& cluster, const std::string& named) {
  if (!named.empty()) return cluster.find(named);
  const auto list = cluster.jobs();
  if (!list) return list.error();
  if (list->running.size() == 1) return list->running.front().job;
  if (list->running.empty())
    return Error{Errc::no_such_job, "no job is running; name one that has ended (inspect jobs)"};
  std::string ids;
  for (const JobOutcome& job : list->running) ids += " " + to_string(job.job);
  return Error{Errc::no_such_job, "several jobs are running, name one of" + ids};
}

// Looks at one job again and again, each time together with the look before; the first time twice.
class JobWatch {
 public:
  JobWatch(ClusterClient& cluster, JobId job) : cluster_(&cluster), job_(job) {}

  [[nodiscard]] Result<JobSample> look() {
    if (!last_) {
      WEIR_TRY(look_once());
      if (is_terminal(last_->status.state)) return JobSample{graph_, {}, *last_};
      std::this_thread::sleep_for(interval);
    }
    std::optional<JobDetails> before = std::move(last_);
    WEIR_TRY(look_once());
    return JobSample{graph_, std::move(before), *last_};
  }

 private:
  [[nodiscard]] Result<void> look_once() {
    auto answer = cluster_->details(job_);
    if (!answer) return answer.error();
    graph_ = std::move(answer->graph);
    last_ = settled(*std::move(answer->details));
    return {};
  }

  ClusterClient* cluster_;
  JobId job_;
  JobGraph graph_;
  std::optional<JobDetails> last_;
};

Look look_at_nodes(ClusterClient& cluster, const InspectOptions& options) {
  return [&cluster, &options]() -> Result<Picture> {
    const auto nodes = cluster.nodes();
    if (!nodes) return nodes.error();
    return Picture{options.json ? nodes_json(*nodes, options.layout()) : nodes_text(*nodes)};
  };
}

Look look_at_jobs(ClusterClient& cluster, const InspectOptions& options) {
  return [&cluster, &options]() -> Result<Picture> {
    const auto jobs = all_jobs(cluster);
    if (!jobs) return jobs.error();
    return Picture{options.json ? jobs_json(*jobs, options.layout())
                                : jobs_text(*jobs, system_clock().processing_time())};
  };
}

// `text` and `json` each make the picture from a sample.
template <class Text, class MakeJson>
Look look_at_job(ClusterClient& cluster, const InspectOptions& options, Text text, MakeJson json) {
  auto watch = std::make_shared<std::optional<JobWatch>>();  // shared: std::function copies
  return [=, &cluster, &options]() -> Result<Picture> {
    if (!*watch) {
      const auto job = choose_job(cluster, options.job);
      if (!job) return job.error();
      watch->emplace(cluster, *job);
    }
    const auto sample = (*watch)->look();
    if (!sample) return sample.error();
    return Picture{options.json ? json(*sample, options.layout()) : text(*sample),
                   is_terminal(sample->now.status.state)};
  };
}

int show(const Look& look, const InspectOptions& options) {
  const bool clears = options.watch && !options.json && isatty(STDOUT_FILENO) != 0;
  while (true) {
    const auto picture = look();
    if (!picture) {
      complain("inspect", picture.error().message);
      return exit_failed;
    }
    if (clears) std::fputs("\033[H\033[2J", stdout);
    std::fputs(picture->text.c_str(), stdout);
    if (std::fflush(stdout) != 0) return exit_failed;  // nobody reads any more
    if (!options.watch || picture->ended) return exit_finished;
    std::this_thread::sleep_for(interval);
  }
}

int refuse(const std::string& text) {
  complain("inspect", text + " (--help lists commands and options)");
  return exit_usage;
}

int run_inspect(int argc, char** argv) {
  InspectOptions options;
  CLI::App app("Shows what a cluster and its jobs do.", "inspect");
  app.set_version_flag("--version", std::string("inspect (weir " WEIR_VERSION ")"));
  app.fallthrough();  // options may stand behind the command
  app.add_option("--cluster", options.cluster, "the master's address")->type_name("HOST:PORT");
  app.add_option("--secret-file", options.secret_file, "the cluster's secret")->type_name("FILE");
  app.add_flag("--json", options.json, "one JSON object instead of text");
  app.add_flag("--watch", options.watch,
               "again every second, until the job has ended; with --json one object a line");
  const auto command = [&](const char* name, const char* help, bool about_a_job) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->footer(
        "Options: --cluster HOST:PORT, --secret-file FILE, --json, --watch; see inspect --help.");
    if (about_a_job) {
      sub->add_option("JOB", options.job,
                      "id, beginning of an id (three digits or more), or name; not needed if one "
                      "job is running");
    }
    return sub;
  };
  const CLI::App* nodes = command("nodes", "nodes of the cluster and their slots", false);
  const CLI::App* jobs = command("jobs", "jobs that run, or have ended", false);
  const CLI::App* topology =
      command("topology", "a job's actors: node, process, task, operators; what each does", true);
  const CLI::App* channels = command("channels", "what travels on the edges of a job", true);
  const CLI::App* checkpoints =
      command("checkpoints", "a job's last checkpoints: times, sizes, by task, failures", true);
  command("doctor", "what holds a job up, and what to do about it", true);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return exit_finished;
  } catch (const CLI::CallForVersion&) {
    std::puts("inspect (weir " WEIR_VERSION ")");
    return exit_finished;
  } catch (const CLI::ParseError& e) {
    return refuse(e.what());
  }
  if (app.get_subcommands().empty())
    return refuse("the command is missing: nodes, jobs, topology, channels, checkpoints or doctor");
  if (app.get_subcommands().size() > 1)
    return refuse("one command at a time: " + app.get_subcommands()[0]->get_name() + " or " +
                  app.get_subcommands()[1]->get_name());
  if (options.cluster.empty()) return refuse("--cluster is missing: the master's HOST:PORT");

  const auto cluster = connect_to_cluster("inspect", options.cluster, options.secret_file);
  if (!cluster) {
    if (cluster.error().code == Errc::bad_option) return refuse(cluster.error().message);
    complain("inspect", cluster.error().message);
    return exit_failed;
  }
  const auto run = [&](const Look& look) { return show(look, options); };
  if (nodes->parsed()) return run(look_at_nodes(**cluster, options));
  if (jobs->parsed()) return run(look_at_jobs(**cluster, options));
  if (topology->parsed()) return run(look_at_job(**cluster, options, topology_text, topology_json));
  if (channels->parsed()) return run(look_at_job(**cluster, options, channels_text, channels_json));
  if (checkpoints->parsed())
    return run(look_at_job(**cluster, options, checkpoints_text, checkpoints_json));
  return run(look_at_job(
      **cluster, options,
      [](const JobSample& sample) { return doctor_text(sample, diagnose(sample)); },
      [](const JobSample& sample, JsonLayout layout) {
        return doctor_json(sample, diagnose(sample), layout);
      }));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::open_missing_standard_descriptors();
  return weir::run_inspect(argc, argv);
}
