// Jobs whose result does not depend on when what happens, for tests that kill and restore them: --job names one.
//
//   words    counts of the words in a text, at the end
//   timers   per user and ten seconds: the clicks, told by a timer of event time
//   rules    each measurement judged by the limit of its kind, which comes in a broadcast stream, before or after it;
//            that stream ends early, so checkpoints have finished tasks
//   join     pairs of an order and its payment, whichever comes first
//   lanes    two pipelines that share nothing; the second fails at --fail-at, once
//
// With --more-steps, join has two that no checkpoint taken without it knows, one of them with state.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "actors/launch.h"
#include "apps/words.h"
#include "dataflow/api/weir.h"
#include "tests/jobs/generated_source.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

struct Slot {
  std::uint32_t user = 0;
  std::int64_t begin_ms = 0;
  std::uint64_t clicks = 0;
  std::int64_t times = 0;
};

// What a user does in ten seconds is told when they are over.
struct Slots {
  static constexpr std::int64_t length_ms = 10'000;
  MapState<std::int64_t, std::uint64_t> clicks{};
  MapState<std::int64_t, std::int64_t> times{};
  Timer end{};

  void on_element(const Click& click, KeyedContext<std::uint32_t, Slot>&) {
    const std::int64_t slot = click.at.ms / length_ms;
    const std::uint64_t* before = clicks.get(slot);
    clicks.put(slot, before == nullptr ? 1 : *before + 1);
    const std::int64_t* sum = times.get(slot);
    times.put(slot, (sum == nullptr ? 0 : *sum) + click.at.ms);
    end.at(EventTime{(slot + 1) * length_ms - 1});
  }
  void on_timer(const TimerFiring& firing, KeyedContext<std::uint32_t, Slot>& ctx) {
    const std::int64_t slot = firing.event_time->ms / length_ms;
    const std::uint64_t* count = clicks.get(slot);
    const std::int64_t* sum = times.get(slot);
    if (count == nullptr || sum == nullptr) return;
    ctx.emit({ctx.key(), slot * length_ms, *count, *sum});
    clicks.remove(slot);
    times.remove(slot);
  }
};

struct Measurement {
  std::uint32_t kind = 0;
  std::uint64_t value = 0;
};
struct Rule {
  std::uint32_t kind = 0;
  std::uint64_t limit = 0;
};
struct Verdict {
  std::uint32_t kind = 0;
  std::uint64_t value = 0;
  bool above = false;
};

// What comes before the rule of its kind waits for the next measurement behind it.
struct Judge {
  BroadcastState<std::uint32_t, std::uint64_t> limits{};
  ListState<std::uint64_t> waiting{};
  Timer look{};

  void on_element1(const Measurement& measured, KeyedContext<std::uint32_t, Verdict>& ctx) {
    const std::uint64_t* limit = limits.get(measured.kind);
    if (limit == nullptr) {
      waiting.add(measured.value);
      look.at(EventTime::max());
      return;
    }
    ctx.emit({measured.kind, measured.value, measured.value > *limit});
  }
  void on_element2(const Rule& rule, Context<Verdict>&) { limits.put(rule.kind, rule.limit); }
  void on_timer(const TimerFiring&, KeyedContext<std::uint32_t, Verdict>& ctx) {
    const std::uint64_t* limit = limits.get(ctx.key());
    for (const std::uint64_t value : waiting.get())
      ctx.emit({ctx.key(), value, limit != nullptr && value > *limit});
    waiting.clear();
  }
};

struct Order {
  std::uint64_t id = 0;
  std::uint64_t amount = 0;
};
struct Payment {
  std::uint64_t order = 0;
  std::uint64_t paid = 0;
};
struct Settled {
  std::uint64_t order = 0;
  std::uint64_t amount = 0;
  std::uint64_t paid = 0;
};

struct Settle {
  ValueState<std::uint64_t> amount{};
  ValueState<std::uint64_t> paid{};

  void on_element1(const Order& order, KeyedContext<std::uint64_t, Settled>& ctx) {
    if (const std::uint64_t* of_payment = paid.get()) {
      ctx.emit({order.id, order.amount, *of_payment});
      paid.clear();
    } else {
      amount.set(order.amount);
    }
  }
  void on_element2(const Payment& payment, KeyedContext<std::uint64_t, Settled>& ctx) {
    if (const std::uint64_t* of_order = amount.get()) {
      ctx.emit({payment.order, *of_order, payment.paid});
      amount.clear();
    } else {
      paid.set(payment.paid);
    }
  }
};

// Passes on what it has not seen before.
struct Once {
  ValueState<bool> seen{};

  void on_element(const Settled& settled, KeyedContext<std::uint64_t, Settled>& ctx) {
    if (std::exchange(seen.update(), true)) return;
    ctx.emit(settled);
  }
};

// Throws at a record, unless a file says that it has done so before.
struct FailOnce {
  std::uint64_t at = 0;
  std::string marker;

  std::uint64_t operator()(std::uint64_t index) const {
    if (at > 0 && index == at && !std::filesystem::exists(marker)) {
      std::ofstream(marker) << "failed\n";
      throw std::runtime_error("fails once, at " + std::to_string(index));
    }
    return index % 100;
  }
};

void describe(Job& job) {
  const auto which = job.option<std::string>("job", "words, timers, rules, join or lanes");
  const GeneratedSource source(job);
  const auto fail_at = job.option<std::uint64_t>("fail-at", "of lanes: the record it fails at", 0);
  const auto more_steps = job.option<bool>("more-steps", "of join: see the top", false);
  const auto marker = job.option<std::string>("marker", "of lanes: says that it has failed", "");

  if (which == "words") {
    source("lines",
           [](std::uint64_t i) {
             const auto word = [](std::uint64_t n) {
               return std::string{static_cast<char>('a' + n % 26),
                                  static_cast<char>('a' + n / 26 % 26)};
             };
             return word(i % 97) + " " + word(i % 659) + " the end";
           })
        .flat_map(words)
        .key_by(std::identity{})
        .count("count")
        .at_end()
        .to("out", csv_files(job.output()));
  } else if (which == "timers") {
    source("clicks",
           [](std::uint64_t i) {
             return Click{static_cast<std::uint32_t>(i * 7 % 311),
                          {static_cast<std::int64_t>(i * 10)}};
           })
        .event_time(&Click::at, bounded(1s))
        .key_by(&Click::user)
        .process("slots", Slots{})
        .to("out", csv_files(job.output()));
  } else if (which == "rules") {
    // Has ended long before the measurements.
    auto rules = job.source("rules", generator(
                                         [](std::uint64_t i) {
                                           return Rule{static_cast<std::uint32_t>(i), i * 100};
                                         },
                                         {.count = 50}));
    source("measurements",
           [](std::uint64_t i) {
             return Measurement{static_cast<std::uint32_t>(i % 50), i * 7919 % 5000};
           })
        .key_by(&Measurement::kind)
        .connect(rules.broadcast())
        .process("judge", Judge{})
        .to("out", csv_files(job.output()));
  } else if (which == "join") {
    auto payments = source("payments", [](std::uint64_t i) {
                      return Payment{i, i * 3};
                    }).key_by(&Payment::order);
    auto settled = source("orders",
                          [](std::uint64_t i) {
                            return Order{i, i * 2};
                          })
                       .key_by(&Order::id)
                       .connect(payments)
                       .process("settle", Settle{});
    if (more_steps) {
      settled.filter([](const Settled&) { return true; })
          .named("all")
          .key_by(&Settled::order)
          .process("once", Once{})
          .to("out", csv_files(job.output()));
    } else {
      settled.to("out", csv_files(job.output()));
    }
  } else {
    source("first", FailOnce{})
        .key_by(std::identity{})
        .count("first count")
        .at_end()
        .to("first out", csv_files(job.output().path + "/first"));
    source("second", FailOnce{fail_at, marker})
        .key_by(std::identity{})
        .count("second count")
        .at_end()
        .to("second out", csv_files(job.output().path + "/second"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, describe);
}
