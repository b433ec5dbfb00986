#include "bench/limits/actor_chain.h"

#include <caf/all.hpp>
#include <future>
#include <memory>
#include <thread>

#include "bench/paired.h"

namespace weir::bench {
namespace {

struct Stamp {
  double sent_at;
};
struct Tick {};

class Config : public caf::actor_system_config {
 public:
  Config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{std::max(1U, std::thread::hardware_concurrency())});
    set("logger.verbosity", caf::atom("quiet"));
  }
};

}  // namespace
}  // namespace weir::bench

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::bench::Stamp)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::bench::Tick)

namespace weir::bench {
namespace {

struct Latencies {
  std::vector<double> us;
  std::promise<void> done;
};

caf::behavior sink_actor(caf::event_based_actor* self, std::size_t count, Latencies* latencies) {
  return {[self, count, latencies](const Stamp& stamp) {
    latencies->us.push_back((seconds_now() - stamp.sent_at) * 1e6);
    if (latencies->us.size() < count) return;
    latencies->done.set_value();
    self->quit();
  }};
}

caf::behavior task_actor(caf::event_based_actor* self, caf::actor sink) {
  return {[self, sink](const Stamp& stamp) { self->send(sink, stamp); }};
}

struct SourceState {
  std::size_t sent = 0;
  double began = 0;
};

caf::behavior source_actor(caf::stateful_actor<SourceState>* self, caf::actor task,
                           std::size_t count, std::chrono::microseconds interval) {
  self->state.began = seconds_now();
  self->send(self, Tick{});
  return {[=](const Tick&) {
    const double step = std::chrono::duration<double>(interval).count();
    while (self->state.sent < count &&
           seconds_now() >= self->state.began + step * static_cast<double>(self->state.sent)) {
      self->send(task, Stamp{seconds_now()});
      ++self->state.sent;
    }
    if (self->state.sent == count) return self->quit();
    const double wait =
        self->state.began + step * static_cast<double>(self->state.sent) - seconds_now();
    self->delayed_send(
        self, std::chrono::nanoseconds{static_cast<std::int64_t>(std::max(0.0, wait) * 1e9)},
        Tick{});
  }};
}

}  // namespace

std::vector<double> actor_chain_latencies(std::size_t count, std::chrono::microseconds interval) {
  Config config;
  Latencies latencies;
  {
    caf::actor_system system(config);
    const auto sink = system.spawn(sink_actor, count, &latencies);
    const auto task = system.spawn(task_actor, sink);
    system.spawn(source_actor, task, count, interval);
    latencies.done.get_future().wait();
    caf::anon_send_exit(task, caf::exit_reason::user_shutdown);
  }
  return latencies.us;
}

void idle_actor_system() {
  Config config;
  caf::actor_system system(config);
  for (;;) std::this_thread::sleep_for(std::chrono::hours{1});
}

}  // namespace weir::bench
