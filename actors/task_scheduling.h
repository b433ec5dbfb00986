// How the threads of an actor system share its actors.
//
// As CAF's work sharing does, from one queue; but a task that is given something just before the giver's turn ends is kept
// by the giver's thread, which runs it next. To wake another thread costs more than all that an idle pipeline does with a
// record, and caches still hold what was sent. The schedulers of Go ("runnext") and Tokio ("LIFO slot") do much the same.
//
// Where there is much to do this must not keep tasks from other threads: a task whose steps are not known to be short lets go
// of the receiver before it goes on working, and a thread runs only so many kept tasks before it looks into the queue.
//
// No other thread can take what is kept or put off. So if the user code of a task with short steps blocks all at once, outside a
// step marked `.blocking()`, they wait for it to return: the tasks before it for credit and alarms, and whom it has sent something.
#pragma once

#include <caf/all.hpp>
#include <caf/policy/work_sharing.hpp>
#include <caf/scheduler/coordinator.hpp>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace weir {

// What this thread, a worker of an actor system, does after the turn of the actor that it runs. Elsewhere always empty.
class NextActor {
 public:
  [[nodiscard]] static NextActor& of_this_thread() {
    static thread_local NextActor next;
    return next;
  }

  // Whether the thread keeps the actor, which a message has just made runnable, for itself.
  [[nodiscard]] bool keep(caf::resumable* job) {
    if (!wanted_ || kept_ != nullptr || in_a_row_ == in_a_row_max) return false;
    kept_ = job;
    return true;
  }
  // The one that it has kept, or null; then what was to be done afterwards is done, too.
  [[nodiscard]] caf::resumable* take() {
    if (kept_ != nullptr) {
      ++in_a_row_;
      return std::exchange(kept_, nullptr);
    }
    in_a_row_ = 0;
    do_deferred();
    return nullptr;
  }
  // The actor goes on working: others may run what was kept, and nothing is put off any longer.
  void let_go(caf::execution_unit* thread) {
    if (kept_ != nullptr) thread->exec_later(std::exchange(kept_, nullptr));
    do_deferred();
  }
  // Does what the records under way need not wait for (credit, alarms) when those who were kept have had their turns: now,
  // if there are none.
  template <class Action>
  void afterwards(Action action) {
    if (kept_ == nullptr) return action();
    deferred_.push_back(std::move(action));
  }

 private:
  friend class HandOver;
  static constexpr std::uint32_t in_a_row_max = 16;

  void do_deferred() {
    while (!deferred_.empty()) {
      for (auto& action : std::exchange(deferred_, {})) action();
    }
  }

  bool wanted_ = false;
  caf::resumable* kept_ = nullptr;
  std::uint32_t in_a_row_ = 0;
  std::vector<std::function<void()>> deferred_;
};

// While it exists, this thread keeps the first actor that a message of its own makes runnable.
class HandOver {
 public:
  HandOver() { NextActor::of_this_thread().wanted_ = true; }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;
  ~HandOver() { NextActor::of_this_thread().wanted_ = false; }
};

class TaskScheduling : public caf::policy::work_sharing {
 public:
  template <class Worker>
  void internal_enqueue(Worker* worker, caf::resumable* job) {
    if (!NextActor::of_this_thread().keep(job)) work_sharing::internal_enqueue(worker, job);
  }

  template <class Worker>
  caf::resumable* dequeue(Worker* worker) {
    if (auto* kept = NextActor::of_this_thread().take()) return kept;
    return work_sharing::dequeue(worker);
  }
};

// For actor_system_config::load.
using TaskScheduler = caf::scheduler::coordinator<TaskScheduling>;

}  // namespace weir
