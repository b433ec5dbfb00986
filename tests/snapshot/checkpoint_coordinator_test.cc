#include "snapshot/checkpoint_coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace checkpoint;

constexpr SnapshotTaskId map0{.vertex = {1}, .subtask = {0}}, map1{.vertex = {1}, .subtask = {1}};
constexpr NodeId lines{0};
constexpr CheckpointId first{1}, second{2}, third{3};
const Error broken{Errc::system, "broken"};

Instant at(std::int64_t ms) {
  return {.monotonic = MonotonicTime{Duration{ms}}, .processing = {1'000'000 + ms}};
}

CheckpointSettings every(std::int64_t interval_ms) {
  return {.interval = Duration{interval_ms}, .directory = "/checkpoints"};
}

CheckpointParticipants two_tasks() {
  return {.tasks = {{map0, "map (1/2)"}, {map1, "map (2/2)"}}, .coordinators = {{lines, "lines"}}};
}

// Two tasks and one coordinator, all running since time 0.
CheckpointCoordinator running(const CheckpointSettings& settings, CheckpointPast past = {}) {
  CheckpointCoordinator coordinator(settings, two_tasks(), std::move(past));
  EXPECT_TRUE(coordinator.on_tasks_running({map0, map1}, at(0)).empty());
  return coordinator;
}

template <class A>
std::vector<A> all(const CheckpointActions& actions) {
  std::vector<A> found;
  for (const CheckpointAction& action : actions) {
    if (const A* a = std::get_if<A>(&action)) found.push_back(*a);
  }
  return found;
}
template <class A>
A only(const CheckpointActions& actions) {
  const std::vector<A> found = all<A>(actions);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? A{} : found[0];
}
template <class A>
bool has(const CheckpointActions& actions) {
  return !all<A>(actions).empty();
}

TaskSnapshot snapshot_of(std::uint64_t bytes) {
  return {.file = {.name = "f", .size = bytes}, .times = {.sync = std::chrono::microseconds{7}}};
}

// Everybody answers; the last answer's actions.
CheckpointActions answer(CheckpointCoordinator& coordinator, CheckpointId id, Instant now) {
  EXPECT_TRUE(coordinator.on_coordinator_snapshot(lines, id, Bytes(3), now).empty());
  EXPECT_TRUE(coordinator.on_acknowledged(map0, id, snapshot_of(10), now).empty());
  return coordinator.on_acknowledged(map1, id, snapshot_of(20), now);
}
CheckpointActions complete(CheckpointCoordinator& coordinator, CheckpointId id, Instant now) {
  EXPECT_EQ(only<Store>(answer(coordinator, id, now)).id, id);
  return coordinator.on_stored(id, {}, now);
}

TEST(CheckpointCoordinator, without_an_interval_triggers_nothing) {
  CheckpointCoordinator coordinator = running({});
  EXPECT_EQ(coordinator.next_wake(), std::nullopt);
  EXPECT_TRUE(coordinator.on_time(at(1'000'000)).empty());
}

TEST(CheckpointCoordinator, triggers_at_a_fixed_rate_once_all_tasks_run) {
  CheckpointCoordinator coordinator(every(100), two_tasks());
  EXPECT_EQ(coordinator.next_wake(), std::nullopt);
  EXPECT_TRUE(coordinator.on_time(at(500)).empty());
  EXPECT_TRUE(coordinator.on_tasks_running({map0}, at(500)).empty());
  EXPECT_FALSE(coordinator.is_active());
  EXPECT_TRUE(coordinator.on_tasks_running({map1}, at(1000)).empty());
  EXPECT_EQ(coordinator.next_wake(), at(1100).monotonic);
  EXPECT_TRUE(coordinator.on_time(at(1099)).empty());
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(1103))),
            (Trigger{.id = first, .time = at(1103).processing}));
  (void)complete(coordinator, first, at(1110));
  EXPECT_EQ(coordinator.next_wake(), at(1200).monotonic);
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(1200))).id, second);
}

TEST(CheckpointCoordinator, stores_when_all_have_answered_and_completes_when_that_is_done) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  EXPECT_TRUE(coordinator.on_acknowledged(map0, first, snapshot_of(10), at(101)).empty());
  EXPECT_TRUE(coordinator.on_acknowledged(map1, first, snapshot_of(20), at(102)).empty());
  const auto actions = coordinator.on_coordinator_snapshot(lines, first, Bytes(3), at(103));
  EXPECT_EQ(only<Store>(actions),
            (Store{.id = first,
                   .triggered = at(100).processing,
                   .coordinators = {{lines, Bytes(3)}},
                   .tasks = {{map0, snapshot_of(10)}, {map1, snapshot_of(20)}}}));
  EXPECT_EQ(coordinator.latest_completed(), std::nullopt);
  EXPECT_THAT(coordinator.on_stored(first, {}, at(104)),
              ElementsAre(CheckpointAction(Complete{.id = first, .tasks = {map0, map1}})));
  EXPECT_EQ(coordinator.latest_completed(), first);
}

TEST(CheckpointCoordinator, an_answer_counts_once) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_coordinator_snapshot(lines, first, Bytes{}, at(100));
  EXPECT_TRUE(coordinator.on_acknowledged(map0, first, snapshot_of(1), at(101)).empty());
  EXPECT_TRUE(coordinator.on_acknowledged(map0, first, snapshot_of(1), at(101)).empty());
  EXPECT_TRUE(coordinator.on_declined(map0, first, broken, at(101)).empty());
  EXPECT_TRUE(has<Store>(coordinator.on_acknowledged(map1, first, snapshot_of(1), at(102))));
  EXPECT_TRUE(has<Complete>(coordinator.on_stored(first, {}, at(103))));
  EXPECT_FALSE(has<Complete>(coordinator.on_stored(first, {}, at(103))));
}

TEST(CheckpointCoordinator, what_is_due_while_another_is_under_way_waits_once) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  EXPECT_TRUE(coordinator.on_time(at(200)).empty());
  EXPECT_TRUE(coordinator.on_time(at(300)).empty());
  EXPECT_EQ(only<Trigger>(complete(coordinator, first, at(350))).id, second);
  EXPECT_FALSE(has<Trigger>(complete(coordinator, second, at(360))));
  EXPECT_EQ(coordinator.next_wake(), at(400).monotonic);
}

TEST(CheckpointCoordinator, as_many_as_allowed_are_under_way) {
  CheckpointSettings settings = every(100);
  settings.max_concurrent = 2;
  CheckpointCoordinator coordinator = running(settings);
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(100))).id, first);
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(200))).id, second);
  EXPECT_FALSE(has<Trigger>(coordinator.on_time(at(300))));
}

TEST(CheckpointCoordinator, a_newer_one_that_completes_ends_the_older) {
  CheckpointSettings settings = every(100);
  settings.max_concurrent = 2;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_time(at(200));
  const auto actions = complete(coordinator, second, at(210));
  EXPECT_EQ(only<Abort>(actions).id, first);
  EXPECT_EQ(only<Abort>(actions).reason.message, "the newer checkpoint 2 is complete");
  EXPECT_EQ(only<Complete>(actions).id, second);
  EXPECT_EQ(only<Discard>(actions).id, first);
  EXPECT_FALSE(has<FailJob>(actions));
}

// V64.
TEST(CheckpointCoordinator, a_periodic_one_within_the_pause_is_dropped_and_a_users_is_not) {
  CheckpointSettings settings = every(100);
  settings.min_pause = Duration{30};
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_time(at(100));
  (void)complete(coordinator, first, at(190));
  const auto dropped = only<DropTrigger>(coordinator.on_time(at(200)));
  EXPECT_FALSE(dropped.by_user);
  EXPECT_THAT(dropped.reason.message, HasSubstr("minimum time between"));
  EXPECT_EQ(coordinator.next_wake(), at(220).monotonic);
  EXPECT_EQ(only<Trigger>(coordinator.on_user_trigger(at(201))),
            (Trigger{.id = second, .time = at(201).processing, .by_user = true}));
  (void)complete(coordinator, second, at(202));
  EXPECT_TRUE(has<DropTrigger>(coordinator.on_time(at(220))));
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(232))).id, third);
}

TEST(CheckpointCoordinator, what_waited_is_dropped_if_the_one_before_has_only_just_completed) {
  CheckpointSettings settings = every(100);
  settings.min_pause = Duration{10};
  settings.max_concurrent = 5;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_time(at(100));
  EXPECT_TRUE(coordinator.on_time(at(200)).empty());  // a pause allows one at a time
  EXPECT_THAT(only<DropTrigger>(complete(coordinator, first, at(250))).reason.message,
              HasSubstr("minimum time between"));
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(260))).id, second);
}

TEST(CheckpointCoordinator, users_go_first_and_in_the_order_of_asking) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_time(at(200));
  EXPECT_TRUE(coordinator.on_user_trigger(at(201)).empty());
  EXPECT_TRUE(coordinator.on_user_trigger(at(202)).empty());
  EXPECT_TRUE(only<Trigger>(complete(coordinator, first, at(210))).by_user);
  EXPECT_TRUE(only<Trigger>(complete(coordinator, second, at(220))).by_user);
  EXPECT_FALSE(only<Trigger>(complete(coordinator, third, at(230))).by_user);
}

TEST(CheckpointCoordinator, a_user_gets_one_without_an_interval) {
  CheckpointCoordinator coordinator = running({});
  EXPECT_EQ(only<Trigger>(coordinator.on_user_trigger(at(5))).id, first);
  EXPECT_TRUE(complete(coordinator, first, at(6)).size() == 1);
}

TEST(CheckpointCoordinator, only_so_many_users_wait) {
  CheckpointCoordinator coordinator = running({});
  (void)coordinator.on_user_trigger(at(0));
  for (std::size_t i = 0; i < user_triggers_max; ++i) {
    ASSERT_TRUE(coordinator.on_user_trigger(at(0)).empty());
  }
  EXPECT_EQ(only<DropTrigger>(coordinator.on_user_trigger(at(0))).reason.message,
            "too many checkpoints are asked for: 1000 wait already");
}

TEST(CheckpointCoordinator, gives_up_after_the_timeout_and_names_the_slowest) {
  CheckpointSettings settings = every(100);
  settings.timeout = Duration{5000};
  settings.tolerable_failures = 5;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_coordinator_snapshot(lines, first, Bytes{}, at(100));
  (void)coordinator.on_acknowledged(map0, first, snapshot_of(1), at(200));
  EXPECT_TRUE(coordinator.on_time(at(5099)).empty());
  const auto actions = coordinator.on_time(at(5100));
  const Abort aborted = only<Abort>(actions);
  EXPECT_EQ(aborted.reason.code, Errc::timeout);
  EXPECT_EQ(aborted.reason.message,
            "checkpoint 1 did not complete within 5 s: 1 of 2 tasks have not acknowledged it: "
            "map (2/2)");
  EXPECT_THAT(aborted.tasks, ElementsAre(map0, map1));
  EXPECT_EQ(only<Discard>(actions).id, first);
  EXPECT_EQ(only<Trigger>(actions).id, second);
  EXPECT_TRUE(coordinator.on_acknowledged(map1, first, snapshot_of(1), at(5101)).empty());
}

TEST(CheckpointCoordinator, a_timeout_names_the_coordinators_and_the_manifest_too) {
  CheckpointSettings settings = every(100'000);
  settings.timeout = Duration{100};
  settings.tolerable_failures = 5;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_user_trigger(at(0));
  EXPECT_THAT(only<Abort>(coordinator.on_time(at(100))).reason.message,
              HasSubstr("no snapshot from the coordinators of lines"));
  (void)coordinator.on_user_trigger(at(200));
  (void)answer(coordinator, second, at(201));
  EXPECT_THAT(only<Abort>(coordinator.on_time(at(300))).reason.message,
              HasSubstr("manifest has not been stored"));
  EXPECT_EQ(only<Discard>(coordinator.on_stored(second, {}, at(301))).id, second)
      << "the manifest came after its checkpoint's end";
}

TEST(CheckpointCoordinator, fails_the_job_at_the_first_failure_by_default) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  const auto actions = coordinator.on_declined(map1, first, broken, at(101));
  EXPECT_EQ(only<Abort>(actions).reason.message, "map (2/2) declined it: broken");
  EXPECT_EQ(only<FailJob>(actions).error,
            (Error{Errc::checkpoint_failed,
                   "checkpoint 1 failed, number 1 in a row where 0 are tolerated "
                   "(--tolerable-checkpoint-failures): map (2/2) declined it: broken"}));
}

TEST(CheckpointCoordinator, tells_storage_that_cannot_be_written_apart_from_failures_that_pass) {
  for (const Errc code : {Errc::output_failed, Errc::timeout}) {
    CheckpointCoordinator coordinator = running(every(100));
    (void)coordinator.on_time(at(100));
    const auto actions = coordinator.on_declined(map1, first, {code, "no"}, at(101));
    EXPECT_EQ(only<FailJob>(actions).cannot_be_written, code == Errc::output_failed);
  }
}

TEST(CheckpointCoordinator, counts_failures_in_a_row_and_a_success_resets_them) {
  CheckpointSettings settings = every(100);
  settings.tolerable_failures = 1;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_user_trigger(at(0));
  EXPECT_FALSE(has<FailJob>(coordinator.on_declined(map0, first, broken, at(1))));
  (void)coordinator.on_user_trigger(at(2));
  (void)complete(coordinator, second, at(3));
  (void)coordinator.on_user_trigger(at(4));
  EXPECT_FALSE(has<FailJob>(
      coordinator.on_coordinator_snapshot(lines, third, Result<Bytes>(broken), at(5))));
  (void)coordinator.on_user_trigger(at(6));
  (void)answer(coordinator, {4}, at(7));
  EXPECT_TRUE(has<FailJob>(coordinator.on_stored({4}, broken, at(8))));
}

TEST(CheckpointCoordinator, several_reports_on_one_checkpoint_are_one_failure) {
  CheckpointSettings settings = every(100);
  settings.tolerable_failures = 1;
  CheckpointCoordinator coordinator = running(settings);
  (void)coordinator.on_user_trigger(at(0));
  EXPECT_FALSE(has<FailJob>(coordinator.on_declined(map0, first, broken, at(1))));
  EXPECT_TRUE(coordinator.on_declined(map1, first, broken, at(1)).empty());
}

TEST(CheckpointCoordinator, a_finished_task_need_not_answer) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_task_finished(map1, at(1));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_coordinator_snapshot(lines, first, Bytes{}, at(100));
  const auto store = only<Store>(coordinator.on_acknowledged(map0, first, snapshot_of(1), at(101)));
  EXPECT_THAT(store.finished, ElementsAre(map1));
  EXPECT_THAT(only<Complete>(coordinator.on_stored(first, {}, at(102))).tasks, ElementsAre(map0));
}

TEST(CheckpointCoordinator, a_task_that_finishes_meanwhile_completes_what_waited_for_it) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_coordinator_snapshot(lines, first, Bytes{}, at(100));
  (void)coordinator.on_acknowledged(map0, first, snapshot_of(1), at(101));
  const auto store = only<Store>(coordinator.on_task_finished(map1, at(102)));
  EXPECT_THAT(store.finished, ElementsAre(map1));
  EXPECT_TRUE(store.tasks.contains(map0));
}

TEST(CheckpointCoordinator, a_task_that_finishes_after_its_answer_is_not_finished_in_it) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_coordinator_snapshot(lines, first, Bytes{}, at(100));
  (void)coordinator.on_acknowledged(map0, first, snapshot_of(1), at(101));
  EXPECT_TRUE(coordinator.on_task_finished(map0, at(102)).empty());
  const auto store = only<Store>(coordinator.on_acknowledged(map1, first, snapshot_of(1), at(103)));
  EXPECT_TRUE(store.finished.empty());
  EXPECT_TRUE(store.tasks.contains(map0));
}

TEST(CheckpointCoordinator, triggers_no_more_when_all_tasks_have_finished) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_task_finished(map0, at(1));
  (void)coordinator.on_task_finished(map1, at(1));
  EXPECT_EQ(coordinator.next_wake(), std::nullopt);
  EXPECT_TRUE(coordinator.on_time(at(500)).empty());
}

TEST(CheckpointCoordinator, a_failing_region_aborts_and_suspends_until_it_runs_again) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)coordinator.on_user_trigger(at(101));
  const auto actions = coordinator.on_region_failed({map0}, broken, at(150));
  EXPECT_EQ(only<Abort>(actions).reason.message, "tasks failed and restart: broken");
  EXPECT_THAT(only<Abort>(actions).tasks, ElementsAre(map1));
  EXPECT_TRUE(only<DropTrigger>(actions).by_user);
  EXPECT_FALSE(has<FailJob>(actions));
  EXPECT_EQ(coordinator.next_wake(), std::nullopt);
  EXPECT_TRUE(coordinator.on_time(at(1000)).empty());
  EXPECT_THAT(only<DropTrigger>(coordinator.on_user_trigger(at(1000))).reason.message,
              HasSubstr("not all of its tasks are running"));
  (void)coordinator.on_tasks_running({map0}, at(2000));
  EXPECT_EQ(coordinator.next_wake(), at(2100).monotonic);
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(2100))).id, second);
}

TEST(CheckpointCoordinator, a_failing_region_aborts_what_is_being_stored) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  (void)answer(coordinator, first, at(101));
  EXPECT_EQ(only<Abort>(coordinator.on_region_failed({map0, map1}, broken, at(102))).id, first);
  EXPECT_THAT(coordinator.on_stored(first, {}, at(103)),
              ElementsAre(CheckpointAction(Discard{first})));
  EXPECT_EQ(coordinator.latest_completed(), std::nullopt);
}

TEST(CheckpointCoordinator, a_task_that_had_finished_may_have_to_run_again) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_task_finished(map0, at(1));
  (void)coordinator.on_region_failed({map0, map1}, broken, at(2));
  (void)coordinator.on_tasks_running({map1}, at(3));
  EXPECT_FALSE(coordinator.is_active());
  (void)coordinator.on_task_finished(map0, at(50));  // as it was in the checkpoint
  EXPECT_TRUE(coordinator.is_active());
  EXPECT_EQ(coordinator.next_wake(), at(150).monotonic);
}

TEST(CheckpointCoordinator, keeps_as_many_as_are_retained) {
  CheckpointSettings settings = every(100);
  settings.retained = 2;
  CheckpointCoordinator coordinator =
      running(settings, {.next = {8}, .completed = {CheckpointId{5}, CheckpointId{7}}});
  EXPECT_EQ(coordinator.latest_completed(), CheckpointId{7});
  EXPECT_EQ(only<Trigger>(coordinator.on_time(at(100))).id, CheckpointId{8});
  EXPECT_EQ(only<Discard>(complete(coordinator, {8}, at(101))).id, CheckpointId{5});
}

TEST(CheckpointCoordinator, shutdown_aborts_and_is_final) {
  CheckpointCoordinator coordinator = running(every(100));
  (void)coordinator.on_time(at(100));
  const auto actions = coordinator.on_shutdown(at(101));
  EXPECT_EQ(only<Abort>(actions).id, first);
  EXPECT_FALSE(has<FailJob>(actions));
  EXPECT_EQ(coordinator.next_wake(), std::nullopt);
  EXPECT_TRUE(coordinator.on_time(at(500)).empty());
  EXPECT_TRUE(has<DropTrigger>(coordinator.on_user_trigger(at(501))));
}

TEST(CheckpointCoordinator, remembers_what_the_last_ones_were_like) {
  CheckpointSettings settings = every(100);
  settings.tolerable_failures = 100;
  CheckpointCoordinator coordinator = running(settings);
  for (std::uint64_t i = 1; i <= 12; ++i) {
    (void)coordinator.on_user_trigger(at(0));
    if (i % 2 == 0) {
      (void)complete(coordinator, {i}, at(9));
    } else {
      (void)coordinator.on_declined(map0, {i}, broken, at(5));
    }
  }
  (void)coordinator.on_user_trigger(at(10));
  const auto statistics = coordinator.statistics();
  ASSERT_EQ(statistics.size(), 11U);
  EXPECT_EQ(statistics[0].id, CheckpointId{13});
  EXPECT_EQ(statistics[0].status, CheckpointStatus::in_progress);
  EXPECT_EQ(statistics[1].status, CheckpointStatus::completed);
  EXPECT_EQ(statistics[1].state_bytes, 30U);
  EXPECT_EQ(statistics[1].expected_tasks, 2U);
  EXPECT_EQ(statistics[1].ended, at(9).processing);
  ASSERT_EQ(statistics[1].tasks.size(), 2U);
  EXPECT_EQ(statistics[1].tasks[1], (TaskCheckpointStatistics{.task = map1,
                                                              .acknowledged = at(9).processing,
                                                              .times = snapshot_of(0).times,
                                                              .state_bytes = 20}));
  EXPECT_EQ(statistics[2].status, CheckpointStatus::failed);
  EXPECT_EQ(statistics[2].failure, "map (1/2) declined it: broken");
  EXPECT_EQ(coordinator.counts(), (CheckpointCounts{.triggered = 13, .completed = 6, .failed = 6}));
}

// A job whose tasks answer, decline, finish, fail and restart at random, and whose storage is slow.
class RandomJob {
 public:
  explicit RandomJob(std::uint64_t seed)
      : random_(seed), coordinator_(settings(), participants()) {}

  void run() {
    for (int step = 0; step < 400 && !testing::Test::HasFatalFailure(); ++step) step_once();
    check(coordinator_.on_shutdown(now()));
    EXPECT_TRUE(pending_.empty()) << "a checkpoint never ended";
    EXPECT_EQ(coordinator_.counts().triggered,
              coordinator_.counts().completed + coordinator_.counts().failed);
  }
  [[nodiscard]] const CheckpointCounts& counts() const { return coordinator_.counts(); }

 private:
  struct Model {
    std::set<SnapshotTaskId> answered;
    std::set<NodeId> coordinators;
    bool stored = false;
  };

  CheckpointSettings settings() {
    max_ = static_cast<std::uint32_t>(1 + random_.below(3));
    return {.interval = Duration{10 + static_cast<int>(random_.below(20))},
            .timeout = Duration{20 + static_cast<int>(random_.below(200))},
            .min_pause = Duration{random_.below(2) == 0 ? 0 : 5},
            .max_concurrent = max_,
            .tolerable_failures = static_cast<std::uint32_t>(random_.below(3)),
            .retained = static_cast<std::uint32_t>(1 + random_.below(3)),
            .directory = "/checkpoints"};
  }
  CheckpointParticipants participants() {
    CheckpointParticipants all;
    const std::uint64_t count = 1 + random_.below(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      const SnapshotTaskId task{.vertex = {0}, .subtask = {i}};
      all.tasks[task] = "t";
      tasks_.push_back(task);
    }
    for (std::uint32_t i = 0; i < random_.below(3); ++i) all.coordinators[{i}] = "c";
    for (const auto& [node, name] : all.coordinators) nodes_.push_back(node);
    return all;
  }

  Instant now() const { return at(time_); }
  SnapshotTaskId some_task() { return tasks_[random_.below(tasks_.size())]; }
  CheckpointId some_checkpoint() {
    const std::uint64_t back = 1 + random_.below(2);
    const std::uint64_t newest = last_id_ + 1;
    return {newest > back ? newest - back : 1};
  }

  void step_once() {
    time_ += static_cast<std::int64_t>(random_.below(4));
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        return check(coordinator_.on_time(now()));
      case 3:
      case 4:
      case 5:
      case 12:
      case 13: {
        const SnapshotTaskId task = some_task();
        const CheckpointId id = some_checkpoint();
        if (finished_.contains(task)) return;
        if (pending_.contains(id)) pending_[id].answered.insert(task);
        return check(coordinator_.on_acknowledged(task, id, snapshot_of(1), now()));
      }
      case 6:
      case 14: {
        if (nodes_.empty()) return;
        const NodeId node = nodes_[random_.below(nodes_.size())];
        const CheckpointId id = some_checkpoint();
        if (pending_.contains(id)) pending_[id].coordinators.insert(node);
        return check(coordinator_.on_coordinator_snapshot(node, id, Bytes{}, now()));
      }
      case 7:
      case 15: {
        const CheckpointId id = some_checkpoint();
        const bool well = random_.below(4) > 0;
        if (pending_.contains(id) && !pending_[id].stored) return;
        return check(coordinator_.on_stored(id, well ? Result<void>() : broken, now()));
      }
      case 8:
        return check(coordinator_.on_user_trigger(now()));
      case 9: {
        const bool declines = random_.below(12) == 0;
        if (declines)
          return check(coordinator_.on_declined(some_task(), some_checkpoint(), broken, now()));
        return check(coordinator_.on_tasks_running({tasks_.begin(), tasks_.end()}, now()));
      }
      case 10: {
        if (random_.below(20) > 0) return;
        const SnapshotTaskId task = some_task();
        finished_.insert(task);
        return check(coordinator_.on_task_finished(task, now()));
      }
      case 11: {
        if (random_.below(10) > 0) return;
        const std::set<SnapshotTaskId> failed{some_task(), some_task()};
        for (const SnapshotTaskId task : failed) finished_.erase(task);
        check(coordinator_.on_region_failed(failed, broken, now()));
        EXPECT_TRUE(pending_.empty());
      }
    }
  }

  void check(const CheckpointActions& actions) {
    for (const CheckpointAction& action : actions) {
      std::visit([this](const auto& a) { check(a); }, action);
    }
    EXPECT_LE(pending_.size(), max_);
    const auto wake = coordinator_.next_wake();
    EXPECT_EQ(!wake, pending_.empty() && !coordinator_.is_active());
  }
  void check(const Trigger& trigger) {
    EXPECT_GT(trigger.id.value, last_id_);
    EXPECT_TRUE(coordinator_.is_active());
    last_id_ = trigger.id.value;
    pending_[trigger.id] = {};
  }
  void check(const Store& store) {
    ASSERT_TRUE(pending_.contains(store.id));
    Model& model = pending_[store.id];
    EXPECT_FALSE(std::exchange(model.stored, true));
    for (const SnapshotTaskId task : tasks_) {
      const bool answered = model.answered.contains(task);
      EXPECT_EQ(store.tasks.contains(task), answered);
      EXPECT_EQ(store.finished.contains(task), !answered);
      EXPECT_TRUE(answered || finished_.contains(task)) << "stored without a live task's answer";
    }
    EXPECT_EQ(store.coordinators.size(), nodes_.size());
  }
  void check(const Complete& complete) {
    ASSERT_TRUE(pending_.contains(complete.id)) << "completed twice, or after its end";
    EXPECT_TRUE(pending_[complete.id].stored);
    EXPECT_GT(complete.id.value, last_completed_);
    last_completed_ = complete.id.value;
    pending_.erase(complete.id);
  }
  void check(const Abort& abort) { EXPECT_EQ(pending_.erase(abort.id), 1U) << "ended twice"; }
  void check(const Discard& discard) {
    EXPECT_FALSE(pending_.contains(discard.id));
    EXPECT_NE(coordinator_.latest_completed(), discard.id);
  }
  void check(const DropTrigger&) {}
  void check(const FailJob&) {}

  Random random_;
  std::uint32_t max_ = 0;
  std::vector<SnapshotTaskId> tasks_;
  std::vector<NodeId> nodes_;
  CheckpointCoordinator coordinator_;
  std::int64_t time_ = 0;
  std::map<CheckpointId, Model> pending_;
  std::set<SnapshotTaskId> finished_;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_completed_ = 0;
};

TEST(CheckpointCoordinator, keeps_its_promises_whatever_happens) {
  std::uint64_t completed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomJob job(seed);
    job.run();
    completed += job.counts().completed;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(completed, 2000U) << "the jobs are too rough for this to test much";
}

}  // namespace
}  // namespace weir
