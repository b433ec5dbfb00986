// The actors of a process that have threads of their own: whether any is left.
#pragma once

#include <caf/all.hpp>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

namespace weir {

// An actor system that talks to others must not be destroyed before wait_until_none: CAF counts an actor as ended before it
// has told those that monitor it. One of them is CAF's broker. What it is told when it has been stopped stays in its mailbox,
// names the ended actor as sender, and so keeps that actor and its thread, which the destructor waits for: for ever.
//
// Thread-safe.
class OwnThreads {
 public:
  // To be called before others know the actor: CAF runs what was attached first last, and so after all have been told.
  template <class Handle>
  static void add(const std::shared_ptr<OwnThreads>& threads, const Handle& actor) {
    {
      const std::scoped_lock lock(threads->mutex_);
      ++threads->count_;
    }
    actor->attach_functor([threads] { threads->remove(); });
  }

  void wait_until_none() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  void remove() {
    {
      const std::scoped_lock lock(mutex_);
      --count_;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

}  // namespace weir
