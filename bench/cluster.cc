// What a cluster costs: records between processes, time to a first result, memory of workers and tasks.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/cluster_client.h"
#include "actors/launch.h"
#include "base/check.h"
#include "base/limits.h"
#include "bench/benchmarks.h"
#include "bench/limits/socket_copy.h"
#include "dataflow/api/weir.h"

extern char** environ;

namespace weir::bench {
namespace {

constexpr std::uint64_t shuffled_records = 20'000'000;
constexpr std::uint32_t idle_chains = 200;

struct Record {
  std::array<char, 100> bytes;
};
static_assert(sizeof(Record) == 100);

Record make_record(std::uint64_t i) {
  Record record{};
  std::memcpy(record.bytes.data(), &i, sizeof i);
  return record;
}

// Takes in records, and at the end says how many bytes a second came, and their sum.
struct Meter {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  double begin = 0;

  void on_element(const Record& record, Context<std::string>& /*context*/) {
    if (count++ == 0) begin = seconds_now();
    std::uint64_t value = 0;
    std::memcpy(&value, record.bytes.data(), sizeof value);
    sum += value;
  }
  void on_end(Context<std::string>& context) {
    const double seconds = seconds_now() - begin;
    context.emit(std::to_string(static_cast<double>(count * sizeof(Record)) / seconds) + " " +
                 std::to_string(sum));
  }
};

// One subtask in one process sends to one in another: steps of different slot groups share no slot.
void describe_shuffle(Job& job) {
  job.source("records", generator(make_record, {.count = shuffled_records}))
      .process("meter", Meter{})
      .slot_group("receivers")
      .to("out", print())
      .slot_group("receivers");
}

void describe_first_result(Job& job) {
  job.source("words", collection(std::vector<std::string>{"to", "be", "or", "not", "to", "be"}))
      .key_by(std::identity{})
      .count("count")
      .to("out", print());
}

void describe_idle(Job& job) {
  job.source("ticks",
             generator([](std::uint64_t i) { return i; }, {.count = {}, .records_per_second = 1.0}))
      .map([](std::uint64_t i) { return i; })
      .no_chain()
      .to("out", discard());
}

// A process of this machine, ended by its id.
class Process {
 public:
  Process(const std::string& program, std::vector<std::string> arguments) {
    int ends[2];
    WEIR_CHECK(pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    arguments.insert(arguments.begin(), program);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    WEIR_CHECK(posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers.data(), environ) ==
               0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    std::fclose(out_);
  }

  // Empty at the end.
  [[nodiscard]] std::string read_line() {
    char line[4096];
    return std::fgets(line, sizeof line, out_) == nullptr ? std::string() : std::string(line);
  }
  [[nodiscard]] pid_t id() const { return pid_; }

 private:
  pid_t pid_ = 0;
  std::FILE* out_ = nullptr;
};

double resident_mb(std::uint64_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    double kb = 0;
    status >> kb;
    return kb / 1024;
  }
  return 0;
}

// A master and workers as people start them, with directories of their own.
class Cluster {
 public:
  Cluster(std::uint32_t workers, std::uint32_t slots)
      : directory_(std::filesystem::temp_directory_path() /
                   ("weir_bench_" + std::to_string(getpid()) + "_" + std::to_string(++clusters))),
        master_(node, {"--role", "master", "--listen", "127.0.0.1:0", "--data-dir",
                       (directory_ / "master").string(), "--log-level", "warning"}) {
    const std::string line = master_.read_line();
    const std::size_t at = line.rfind(' ');
    WEIR_CHECK(at != std::string::npos);
    address_ = line.substr(at + 1, line.size() - at - 2);
    for (std::uint32_t i = 0; i < workers; ++i) {
      workers_.push_back(std::make_unique<Process>(
          node, std::vector<std::string>{"--role", "worker", "--join", address_, "--slots",
                                         std::to_string(slots), "--memory", "0", "--data-dir",
                                         (directory_ / std::to_string(i)).string(), "--log-level",
                                         "warning"}));
    }
    auto client = ClusterClient::connect(*parse_endpoint(address_), {});
    WEIR_CHECK(client.has_value());
    client_ = *std::move(client);
    while (client_->nodes()->nodes.size() < workers + 1) pause();
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() {
    client_.reset();
    workers_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] ClusterClient& client() { return *client_; }
  [[nodiscard]] pid_t worker() const { return workers_.front()->id(); }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds{20}); }

 private:
  static constexpr const char* node = WEIR_BINARY_DIR "/tools/node";

  inline static int clusters = 0;

  std::filesystem::path directory_;
  Process master_;
  std::string address_;
  std::vector<std::unique_ptr<Process>> workers_;
  std::unique_ptr<ClusterClient> client_;
};

// Runs a job of this program and returns its first row.
std::string first_row(const std::string& program, const Cluster& cluster, const std::string& job) {
  Process client(program, {"--child=" + job, cluster.address()});
  return client.read_line();
}

// What frames the exchange makes of these records, so that the limit sends the same.
std::size_t frame_bytes() {
  return std::min(limits::batch_rows_max * sizeof(Record), limits::batch_bytes_max);
}

Sample shuffle(const std::string& program, const Cluster& cluster) {
  const std::string row = first_row(program, cluster, "cluster-shuffle");
  char* end = nullptr;
  const double bytes_per_second = std::strtod(row.c_str(), &end);
  const std::uint64_t sum = std::strtoull(end, nullptr, 10);
  constexpr std::uint64_t expected = shuffled_records * (shuffled_records - 1) / 2;
  return {bytes_per_second / 1e6, sum == expected ? 1U : 0U};
}

// Resident memory of the process that runs `chains` chains of three tasks; the cluster has one worker.
double idle_tasks_mb(const std::string& program, Cluster& cluster, std::uint32_t chains) {
  Process client(program, {"--child=cluster-idle", cluster.address(),
                           "--parallelism=" + std::to_string(chains)});
  while (true) {
    Cluster::pause();
    const auto jobs = cluster.client().jobs();
    if (!jobs || jobs->running.empty()) continue;
    const auto job = cluster.client().details(jobs->running.front().job);
    if (!job || job->details->status.progress.tasks_running < 3 * chains) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    const double mb = resident_mb(job->details->hosts.front().process);
    WEIR_CHECK(cluster.client().cancel(jobs->running.front().job).has_value());
    while (!cluster.client().jobs()->running.empty()) Cluster::pause();
    return mb;
  }
}

}  // namespace

PairedBenchmark shuffle_tcp(const std::string& program) {
  const auto cluster = std::make_shared<std::unique_ptr<Cluster>>();
  return {
      .name = "shuffle_tcp",
      .unit = "MB/s",
      .what =
          "100-byte records from a task of one process to one of another, against a loop "
          "over plain sockets that sends as many bytes in frames of the same size",
      .engine =
          [program, cluster] {
            if (*cluster == nullptr) *cluster = std::make_unique<Cluster>(2, 1);
            return shuffle(program, **cluster);
          },
      .limit =
          [] {
            return Sample{socket_copy(shuffled_records * sizeof(Record), frame_bytes()) / 1e6, 1};
          }};
}

PairedBenchmark cluster_first_result(const std::string& program) {
  const auto cluster = std::make_shared<std::unique_ptr<Cluster>>();
  return {.name = "cluster_first_result",
          .unit = "ms",
          .what =
              "start of a client to the first row that a job on a warm cluster prints, against "
              "a process that prints it at once",
          .engine =
              [program, cluster] {
                if (*cluster == nullptr) *cluster = std::make_unique<Cluster>(2, 2);
                const double begin = seconds_now();
                WEIR_CHECK(!first_row(program, **cluster, "cluster-first-result").empty());
                return Sample{(seconds_now() - begin) * 1e3};
              },
          .limit =
              [program] {
                const double begin = seconds_now();
                Process child(program, {"--child=bare-output"});
                WEIR_CHECK(!child.read_line().empty());
                return Sample{(seconds_now() - begin) * 1e3};
              }};
}

PairedBenchmark worker_memory(const std::string& program) {
  const auto cluster = std::make_shared<std::unique_ptr<Cluster>>();
  return {.name = "worker_memory",
          .unit = "MB",
          .what = "resident memory of an idle worker, against an idle actor system",
          .engine =
              [cluster] {
                *cluster = std::make_unique<Cluster>(1, 2);
                std::this_thread::sleep_for(std::chrono::milliseconds{500});
                return Sample{resident_mb(static_cast<std::uint64_t>((*cluster)->worker()))};
              },
          .limit =
              [program] {
                const Process idle(program, {"--child=idle-actors"});
                std::this_thread::sleep_for(std::chrono::milliseconds{500});
                return Sample{resident_mb(static_cast<std::uint64_t>(idle.id()))};
              }};
}

PairedBenchmark task_memory(const std::string& program) {
  const auto cluster = std::make_shared<std::unique_ptr<Cluster>>();
  const auto measured = [program, cluster](std::uint32_t chains) {
    if (*cluster == nullptr) *cluster = std::make_unique<Cluster>(1, idle_chains);
    return idle_tasks_mb(program, **cluster, chains);
  };
  return {.name = "task_memory",
          .unit = "KB",
          .what =
              "resident memory per deployed idle task, by the difference of 600 tasks and 3, "
              "against the 64 KB it may have",
          .engine =
              [measured] {
                const double mb = measured(idle_chains) - measured(1);
                return Sample{mb * 1024 / (3 * (idle_chains - 1))};
              },
          .limit = [] { return Sample{64}; }};
}

int run_cluster_job(const std::string& role, std::vector<std::string> arguments) {
  const std::vector<std::pair<std::string, void (*)(Job&)>> jobs = {
      {"cluster-shuffle", describe_shuffle},
      {"cluster-first-result", describe_first_result},
      {"cluster-idle", describe_idle}};
  for (const auto& [name, describe] : jobs) {
    if (role != name) continue;
    const std::string address = arguments.front();
    arguments.erase(arguments.begin());
    arguments.insert(arguments.begin(), {"weir_bench", "--cluster", address, "--bench-job", role});
    if (role != "cluster-idle") arguments.emplace_back("--parallelism=1");
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return launch(static_cast<int>(pointers.size()), pointers.data(), describe_bench_job);
  }
  return 2;
}

// In the client and in the task processes, which know no more than the job's options.
void describe_bench_job(Job& job) {
  const auto role = job.option<std::string>("bench-job", "which of the benchmarks' jobs");
  if (role == "cluster-shuffle") describe_shuffle(job);
  if (role == "cluster-first-result") describe_first_result(job);
  if (role == "cluster-idle") describe_idle(job);
}

}  // namespace weir::bench
