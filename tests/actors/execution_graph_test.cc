#include "actors/execution_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "actors/pipelined_regions.h"
#include "actors/run.h"
#include "base/random.h"
#include "dataflow/api/weir.h"

namespace weir {
namespace {

constexpr NodeId source{0};
constexpr NodeId sink{2};
const Error boom{Errc::user_code, "boom"};
const std::optional<Error> none;

// Two vertices of parallelism 2: source and keyed count.
JobGraph small_graph() {
  Job job("small");
  (void)job.source("numbers", from_sequence(0, 9))
      .key_by([](std::int64_t n) { return n; })
      .count("count")
      .collect();
  JobGraph graph = make_job_graph(**make_plan(job, {.parallelism = 2}));
  graph.nodes[sink.value].commits = true;
  return graph;
}

// All of its vertices are one region.
ExecutionGraph graph_of(const JobGraph& graph) {
  return {graph, pipelined_regions(graph).front()};
}

// A graph with a committing sink, and the tasks it has.
class ExecutionGraphTest : public testing::Test {
 protected:
  template <class Action>
  static bool has(const std::vector<JobAction>& actions) {
    return std::ranges::any_of(
        actions, [](const auto& action) { return std::holds_alternative<Action>(action); });
  }

  // Brings the job to where its tasks run.
  void run_all() {
    (void)graph_.on_start();
    (void)graph_.on_slots_granted();
    (void)graph_.on_hosts_started();
    (void)graph_.on_coordinator_opened(source, none);
    (void)graph_.on_coordinator_opened(sink, none);
    for (const TaskId task : graph_.tasks()) (void)graph_.on_task_deployed(task);
    for (const TaskId task : graph_.tasks())
      (void)graph_.on_task_changed(task, TaskState::running, none);
  }

  // As when the rest of the job has finished too.
  std::vector<JobAction> finish_all() {
    for (const TaskId task : graph_.tasks())
      (void)graph_.on_task_changed(task, TaskState::finished, none);
    return graph_.on_commit_allowed();
  }

  ExecutionGraph graph_ = graph_of(small_graph());
};

TEST_F(ExecutionGraphTest, asks_for_slots_first) {
  EXPECT_TRUE(has<AskForSlots>(graph_.on_start()));
  EXPECT_EQ(graph_.state(), JobState::created);
}

TEST_F(ExecutionGraphTest, deploys_only_when_every_coordinator_is_open) {
  (void)graph_.on_start();
  EXPECT_TRUE(has<StartHosts>(graph_.on_slots_granted()));
  EXPECT_TRUE(has<OpenAllCoordinators>(graph_.on_hosts_started()));
  EXPECT_TRUE(graph_.on_hosts_started().empty()) << "told twice";
  EXPECT_TRUE(graph_.on_coordinator_opened(source, none).empty());
  EXPECT_TRUE(graph_.on_coordinator_opened(source, none).empty()) << "told twice";
  EXPECT_TRUE(has<DeployAllTasks>(graph_.on_coordinator_opened(sink, none)));
}

TEST_F(ExecutionGraphTest, connects_tasks_once_the_last_is_deployed) {
  (void)graph_.on_start();
  (void)graph_.on_slots_granted();
  (void)graph_.on_coordinator_opened(source, none);
  (void)graph_.on_coordinator_opened(sink, none);
  const auto tasks = graph_.tasks();
  for (std::size_t i = 0; i + 1 < tasks.size(); ++i)
    EXPECT_TRUE(graph_.on_task_deployed(tasks[i]).empty());
  EXPECT_TRUE(has<StartAllTasks>(graph_.on_task_deployed(tasks.back())));
  EXPECT_TRUE(graph_.on_task_deployed(tasks.back()).empty()) << "told twice";
}

TEST_F(ExecutionGraphTest, says_once_that_all_tasks_run) {
  int said = 0;
  (void)graph_.on_start();
  (void)graph_.on_slots_granted();
  (void)graph_.on_hosts_started();
  (void)graph_.on_coordinator_opened(source, none);
  (void)graph_.on_coordinator_opened(sink, none);
  for (const TaskId task : graph_.tasks()) (void)graph_.on_task_deployed(task);
  const auto tasks = graph_.tasks();
  for (const TaskId task : tasks) {
    const TaskState state = task == tasks.front() ? TaskState::finished : TaskState::running;
    said += has<AllRunning>(graph_.on_task_changed(task, state, none)) ? 1 : 0;
    EXPECT_EQ(said, task == tasks.back() ? 1 : 0);
  }
  said += has<AllRunning>(graph_.on_task_changed(tasks.back(), TaskState::finished, none)) ? 1 : 0;
  EXPECT_EQ(said, 1);
}

TEST_F(ExecutionGraphTest, commits_when_all_tasks_have_finished_and_it_may_and_finishes_then) {
  run_all();
  const auto tasks = graph_.tasks();
  for (std::size_t i = 0; i + 1 < tasks.size(); ++i)
    EXPECT_TRUE(graph_.on_task_changed(tasks[i], TaskState::finished, none).empty());
  EXPECT_TRUE(has<TasksFinished>(graph_.on_task_changed(tasks.back(), TaskState::finished, none)));
  EXPECT_TRUE(has<Commit>(graph_.on_commit_allowed()));
  EXPECT_TRUE(graph_.on_commit_allowed().empty()) << "told twice";
  EXPECT_EQ(graph_.state(), JobState::running);
  EXPECT_TRUE(has<EndExecution>(graph_.on_committed(sink, none)));
  EXPECT_EQ(graph_.state(), JobState::finished);
}

TEST_F(ExecutionGraphTest, a_commit_that_fails_is_aborted_and_fails_the_job) {
  run_all();
  (void)finish_all();
  EXPECT_TRUE(has<Abort>(graph_.on_committed(sink, boom)));
  EXPECT_TRUE(has<EndExecution>(graph_.on_aborted(sink)));
  EXPECT_EQ(graph_.state(), JobState::failed);
  EXPECT_EQ(graph_.error(), boom);
}

TEST_F(ExecutionGraphTest,
       a_task_that_hangs_while_another_has_failed_is_given_up_and_both_are_told) {
  run_all();
  const auto tasks = graph_.tasks();
  (void)graph_.on_task_changed(tasks.front(), TaskState::failed, boom);
  EXPECT_FALSE(graph_.tasks_given_up());
  (void)graph_.on_cancel_timeout("'sleeper' sleeps");
  EXPECT_TRUE(graph_.tasks_given_up());
  EXPECT_EQ(graph_.error(), (Error{Errc::user_code, "boom; then 'sleeper' sleeps"}));
}

TEST_F(ExecutionGraphTest, a_task_that_fails_cancels_the_others_then_aborts_then_ends) {
  run_all();
  const auto tasks = graph_.tasks();
  const auto actions = graph_.on_task_changed(tasks.front(), TaskState::failed, boom);
  ASSERT_TRUE(has<Cancel>(actions));
  EXPECT_EQ(std::get<Cancel>(actions.front()).tasks.size(), tasks.size() - 1);
  EXPECT_EQ(graph_.state(), JobState::failing);
  for (std::size_t i = 1; i + 1 < tasks.size(); ++i) {
    EXPECT_TRUE(graph_.on_task_changed(tasks[i], TaskState::canceled, none).empty());
  }
  EXPECT_TRUE(has<Abort>(graph_.on_task_changed(tasks.back(), TaskState::canceled, none)));
  EXPECT_TRUE(has<EndExecution>(graph_.on_aborted(sink)));
  EXPECT_EQ(graph_.state(), JobState::failed);
  EXPECT_EQ(graph_.error(), boom);
}

TEST_F(ExecutionGraphTest, keeps_the_first_error) {
  run_all();
  const auto tasks = graph_.tasks();
  (void)graph_.on_task_changed(tasks[0], TaskState::failed, boom);
  (void)graph_.on_task_changed(tasks[1], TaskState::failed, Error{Errc::system, "later"});
  EXPECT_EQ(graph_.error(), boom);
}

TEST_F(ExecutionGraphTest, cancelled_before_it_has_slots_ends_at_once_but_for_its_sinks) {
  (void)graph_.on_start();
  EXPECT_TRUE(has<Abort>(graph_.on_cancel()));
  EXPECT_TRUE(has<EndExecution>(graph_.on_aborted(sink)));
  EXPECT_EQ(graph_.state(), JobState::canceled);
  EXPECT_TRUE(graph_.on_slots_granted().empty()) << "slots that come too late";
}

TEST_F(ExecutionGraphTest, a_task_deployed_after_the_cancel_is_cancelled_then) {
  (void)graph_.on_start();
  (void)graph_.on_slots_granted();
  (void)graph_.on_coordinator_opened(source, none);
  (void)graph_.on_coordinator_opened(sink, none);
  EXPECT_FALSE(has<Cancel>(graph_.on_cancel()));
  for (const TaskId task : graph_.tasks()) EXPECT_TRUE(has<Cancel>(graph_.on_task_deployed(task)));
}

TEST_F(ExecutionGraphTest, tasks_that_do_not_end_are_given_up_by_name) {
  run_all();
  (void)graph_.on_cancel();
  EXPECT_TRUE(has<Abort>(graph_.on_cancel_timeout("'sleeper' sleeps")));
  EXPECT_TRUE(has<EndExecution>(graph_.on_aborted(sink)));
  EXPECT_EQ(graph_.state(), JobState::canceled);
  EXPECT_EQ(graph_.error(), (Error{Errc::task_stuck, "'sleeper' sleeps"}));
}

TEST_F(ExecutionGraphTest, a_cancel_while_committing_is_too_late) {
  run_all();
  (void)finish_all();
  EXPECT_TRUE(graph_.on_cancel().empty());
  (void)graph_.on_committed(sink, none);
  EXPECT_EQ(graph_.state(), JobState::finished);
}

// Whatever comes in whatever order: a job ends at most once, never both commits and aborts, and
// once ended does nothing.
TEST_F(ExecutionGraphTest, random_events_never_break_the_invariants) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ExecutionGraph graph = graph_of(small_graph());
    std::set<TaskId> deployed;
    int ends = 0;
    bool committed = false;
    bool aborted = false;
    bool tasks_finished = false;
    const auto watch = [&](const std::vector<JobAction>& actions) {
      ASSERT_TRUE(ends == 0 || actions.empty());
      ends += has<EndExecution>(actions) ? 1 : 0;
      committed = committed || has<Commit>(actions);
      aborted = aborted || has<Abort>(actions);
      tasks_finished = tasks_finished || has<TasksFinished>(actions);
      ASSERT_FALSE(committed && aborted && graph.state() == JobState::finished);
    };
    const auto tasks = graph.tasks();
    watch(graph.on_start());
    for (int step = 0; step < 300; ++step) {
      const TaskId task = tasks[random.below(tasks.size())];
      const auto error = random.below(40) == 0 ? std::optional(boom) : none;
      switch (random.below(12)) {
        case 0:
          watch(random.below(2) == 0 ? graph.on_slots_granted() : graph.on_hosts_started());
          break;
        case 1:
          watch(graph.on_coordinator_opened(random.below(2) == 0 ? source : sink, error));
          break;
        case 2:
        case 3:
          deployed.insert(task);
          watch(graph.on_task_deployed(task));
          break;
        case 4:
        case 5:
        case 6:
          if (deployed.contains(task))
            watch(graph.on_task_changed(task, TaskState::finished, none));
          break;
        case 7:
          if (deployed.contains(task)) watch(graph.on_task_changed(task, TaskState::running, none));
          break;
        case 8:
          if (graph.state_of(task) == TaskState::canceling && deployed.contains(task)) {
            watch(graph.on_task_changed(task, TaskState::canceled, none));
          }
          break;
        case 9:
          watch(graph.on_committed(sink, error));
          break;
        case 10:
          watch(graph.on_aborted(sink));
          break;
        default:
          if (tasks_finished && random.below(3) == 0) watch(graph.on_commit_allowed());
          if (random.below(60) == 0) watch(graph.on_cancel());
          if (random.below(100) == 0) watch(graph.on_failure(boom));
      }
      if (HasFatalFailure()) return;
    }
    if (is_terminal(graph.state())) {
      ASSERT_EQ(ends, 1);
      ASSERT_EQ(graph.state() == JobState::finished, committed && !graph.error());
    } else {
      ASSERT_EQ(ends, 0);
    }
  }
}

TEST_F(ExecutionGraphTest, only_removes_output_if_that_is_its_purpose) {
  const JobGraph graph = small_graph();
  ExecutionGraph remover(graph, pipelined_regions(graph).front(), ExecutionPurpose::remove_output);
  EXPECT_TRUE(has<AskForSlots>(remover.on_start()));
  EXPECT_TRUE(has<StartHosts>(remover.on_slots_granted()));
  EXPECT_TRUE(has<OpenAllCoordinators>(remover.on_hosts_started()));
  const auto opened =
      remover.on_coordinator_opened(sink, none);  // that of the source is not needed
  EXPECT_TRUE(has<Abort>(opened));
  EXPECT_FALSE(has<DeployAllTasks>(opened));
  EXPECT_TRUE(has<EndExecution>(remover.on_aborted(sink)));
  EXPECT_EQ(remover.state(), JobState::canceled);
}

TEST_F(ExecutionGraphTest, that_cannot_open_the_output_to_remove_it_ends_all_the_same) {
  const JobGraph graph = small_graph();
  ExecutionGraph remover(graph, pipelined_regions(graph).front(), ExecutionPurpose::remove_output);
  (void)remover.on_start();
  (void)remover.on_slots_granted();
  (void)remover.on_hosts_started();
  EXPECT_TRUE(has<Abort>(remover.on_coordinator_opened(sink, boom)));
  EXPECT_TRUE(has<EndExecution>(remover.on_aborted(sink)));
  EXPECT_EQ(remover.state(), JobState::failed);
}

}  // namespace
}  // namespace weir
