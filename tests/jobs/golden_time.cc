// Jobs with windows, joins, requests and a loop whose rows are the same however they are run and whatever is killed under them:
//   sessions   clicks of a user in session windows, out of order
//   sliding    the same in sliding windows, counted
//   windows    pairs of an order and a payment of the same key in the same window
//   intervals  pairs whose times are near each other
//   async      records that a service of another thread answers, out of order
//   loop       records that go round a loop with an exchange inside until they are counted down
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "actors/launch.h"
#include "tests/jobs/generated_source.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

struct Visit {
  std::uint32_t user = 0;
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
  std::int64_t clicks = 0;
};

struct Event {
  std::uint64_t number = 0;
  std::uint32_t key = 0;
  EventTime at{};
};

struct Pair {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

struct Answer {
  std::uint64_t question = 0;
  std::uint64_t answer = 0;
};

// Answers from a thread of its own, two at a time and the later one first.
class Service {
 public:
  Service() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void ask(std::uint64_t question, AsyncResult<Answer> result) {
    {
      const std::lock_guard lock(mutex_);
      questions_.emplace_back(question, std::move(result));
    }
    asked_.notify_one();
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::deque<std::pair<std::uint64_t, AsyncResult<Answer>>> questions;
      {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [this] { return !questions_.empty(); })) return;
        questions.swap(questions_);
      }
      std::this_thread::sleep_for(1ms);
      for (; !questions.empty(); questions.pop_back()) {
        const auto& [question, result] = questions.back();
        result.complete({question, question * question});
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<std::pair<std::uint64_t, AsyncResult<Answer>>> questions_;
  std::jthread thread_;
};

struct Ask {
  std::shared_ptr<Service> service = {};

  void open(const FunctionContext& /*context*/) { service = std::make_shared<Service>(); }
  void operator()(std::uint64_t number, AsyncResult<Answer> result) {
    service->ask(number, std::move(result));
  }
  void close() { service.reset(); }
};

struct Round {
  std::uint64_t number = 0;
  std::uint32_t left = 0;
  std::uint32_t rounds = 0;
};

struct CountDown {
  void on_element(const Round& round, KeyedContext<std::uint32_t, Round>& ctx) {
    ctx.emit({round.number, round.left - 1, round.rounds + 1});
  }
};

void describe(Job& job) {
  const auto which =
      job.option<std::string>("job", "sessions, sliding, windows, intervals, async or loop");
  const GeneratedSource source(job);
  // Every 10 ms one, of 31 users, each of whom is silent for a while now and then; up to 100 ms out of order.
  const auto clicks = [&] {
    return source("clicks",
                  [](std::uint64_t i) {
                    return Click{static_cast<std::uint32_t>(i * 7 % 31),
                                 {static_cast<std::int64_t>(i * 10 + i * 37 % 100)}};
                  })
        .filter([](const Click& click) { return (click.at.ms / 2000 + click.user) % 3 != 0; })
        .event_time(&Click::at, bounded(100ms))
        .key_by(&Click::user);
  };
  const auto events = [&](const std::string& name, std::int64_t delay_ms) {
    return source(name,
                  [delay_ms](std::uint64_t i) {
                    return Event{i,
                                 static_cast<std::uint32_t>(i % 50),
                                 {static_cast<std::int64_t>(i * 10) + delay_ms}};
                  })
        .event_time(&Event::at, monotonous())
        .key_by(&Event::key);
  };
  const auto visit = [](std::uint32_t user, Window window, std::int64_t count) {
    return Visit{user, window.start.ms, window.end.ms, count};
  };
  const auto pair = [](const Event& left, const Event& right) {
    return Pair{left.number, right.number};
  };

  if (which == "sessions") {
    clicks()
        .window(Session::with_gap(500ms))
        .aggregate("visits", Count{}, visit)
        .to("out", csv_files(job.output()));
  } else if (which == "sliding") {
    clicks()
        .window(Sliding::of(2s, 250ms))
        .aggregate("visits", Count{}, visit)
        .to("out", csv_files(job.output()));
  } else if (which == "windows") {
    events("orders", 0)
        .join(events("payments", 300))
        .window(Tumbling::of(1s))
        .process("pairs", pair)
        .to("out", csv_files(job.output()));
  } else if (which == "intervals") {
    events("orders", 0)
        .interval_join(events("payments", 300))
        .between(-500ms, 1s)
        .process("pairs", pair)
        .to("out", csv_files(job.output()));
  } else if (which == "async") {
    source("numbers", std::identity{})
        .async_map("ask", Ask{}, {.order = AsyncOrder::unordered, .capacity = 50})
        .to("out", csv_files(job.output()));
  } else {
    source("numbers",
           [](std::uint64_t i) {
             return Round{i, static_cast<std::uint32_t>(1 + i % 40), 0};
           })
        .iterate("loop",
                 [](Stream<Round> in) {
                   auto counted = in.key_by([](const Round& round) {
                                      return static_cast<std::uint32_t>(round.number) + round.left;
                                    }).process("count down", CountDown{});
                   return LoopEnds{counted.filter([](const Round& r) { return r.left > 0; }),
                                   counted.filter([](const Round& r) { return r.left == 0; })};
                 })
        .to("out", csv_files(job.output()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, describe);
}
