// Jobs with windows, joins, requests and a loop whose rows are the same however they are run and whatever is killed under them:
//   sessions   clicks of a user in session windows, out of order
//   sliding    the same in sliding windows, counted
//   windows    pairs of an order and a payment of the same key in the same window
//   intervals  pairs whose times are near each other
//   temporal   records with the version of their key that was valid at their time, or none
//   async      records that a service answers, out of order
//   loop       records that go round a loop with an exchange inside until they are counted down
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "dataflow/api/weir.h"
#include "tests/jobs/click.h"

namespace weir {

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

// source(name, make) → the stream of make(0), make(1) …; end(rows) takes what comes out; ask is the function of `async`, from a number to
// an Answer.
template <class Source, class End, class Ask>
void describe_golden_time(const std::string& which, const Source& source, const End& end,
                          const Ask& ask, AsyncRetry retry = {}) {
  using namespace std::chrono_literals;
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
  const auto timed = [&](const std::string& name, std::int64_t delay_ms) {
    return source(name,
                  [delay_ms](std::uint64_t i) {
                    return Event{i,
                                 static_cast<std::uint32_t>(i % 50),
                                 {static_cast<std::int64_t>(i * 10) + delay_ms}};
                  })
        .event_time(&Event::at, monotonous());
  };
  const auto events = [&](const std::string& name, std::int64_t delay_ms) {
    return timed(name, delay_ms).key_by(&Event::key);
  };
  const auto visit = [](std::uint32_t user, Window window, std::int64_t count) {
    return Visit{user, window.start.ms, window.end.ms, count};
  };
  const auto pair = [](const Event& left, const Event& right) {
    return Pair{left.number, right.number};
  };

  if (which == "sessions") {
    end(clicks().window(Session::with_gap(500ms)).aggregate("visits", Count{}, visit));
  } else if (which == "sliding") {
    end(clicks().window(Sliding::of(2s, 250ms)).aggregate("visits", Count{}, visit));
  } else if (which == "windows") {
    end(events("orders", 0)
            .join(events("payments", 300))
            .window(Tumbling::of(1s))
            .process("pairs", pair));
  } else if (which == "intervals") {
    end(events("orders", 0)
            .interval_join(events("payments", 300))
            .between(-500ms, 1s)
            .process("pairs", pair));
  } else if (which == "temporal") {
    const auto rates = timed("rates", 300).changelog([](const Event& rate) {
      return rate.number / 50 % 7 == 6 ? RowKind::remove : RowKind::update_after;
    });
    end(events("orders", 0)
            .temporal_left_join(rates.key_by(&Event::key))
            .process("pairs", [](const Event& order, const Event* rate) {
              return Pair{order.number, rate == nullptr ? 0 : rate->number};
            }));
  } else if (which == "async") {
    end(source("numbers", std::identity{})
            .async_map("ask", ask,
                       {.order = AsyncOrder::unordered, .capacity = 50, .retry = retry}));
  } else {
    end(source("numbers", [](std::uint64_t i) {
          return Round{i, static_cast<std::uint32_t>(1 + i % 40), 0};
        }).iterate("loop", [](Stream<Round> in) {
      auto counted = in.key_by([](const Round& round) {
                         return static_cast<std::uint32_t>(round.number) + round.left;
                       }).process("count down", CountDown{});
      return LoopEnds{counted.filter([](const Round& r) { return r.left > 0; }),
                      counted.filter([](const Round& r) { return r.left == 0; })};
    }));
  }
}

}  // namespace weir
