// A windowed step as data, and as parts for the engine: so that random ones need few instantiations.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "dataflow/window/cumulative.h"
#include "dataflow/window/evictors/count_evictor.h"
#include "dataflow/window/evictors/time_evictor.h"
#include "dataflow/window/global.h"
#include "dataflow/window/session.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/triggers/continuous_event_time_trigger.h"
#include "dataflow/window/triggers/continuous_processing_time_trigger.h"
#include "dataflow/window/triggers/count_trigger.h"
#include "dataflow/window/triggers/default_trigger.h"
#include "dataflow/window/triggers/delta_trigger.h"
#include "dataflow/window/triggers/end_of_input_trigger.h"
#include "dataflow/window/triggers/event_time_trigger.h"
#include "dataflow/window/triggers/never_trigger.h"
#include "dataflow/window/triggers/processing_time_trigger.h"
#include "dataflow/window/triggers/timeout_trigger.h"
#include "dataflow/window/tumbling.h"
#include "tests/dataflow/operators/window_script.h"

namespace weir {

enum class AssignerKind : std::uint8_t { tumbling, sliding, cumulative, session, dynamic, global };
enum class TriggerKind : std::uint8_t {
  at_end,
  event_time,
  processing_time,
  count,
  continuous_event,
  continuous_processing,
  timeout_of_count,
  timeout_of_event_time,
  end_of_input,
  never,
  delta,  // last: it cannot merge
};
enum class EvictorKind : std::uint8_t { none, count, time };

struct WindowPlan {
  AssignerKind assigner{};
  TimeDomain domain = TimeDomain::event;
  std::int64_t size = 1;  // or gap
  std::int64_t slide = 1;
  std::int64_t offset = 0;
  TriggerKind trigger{};
  bool purging = false;
  std::int64_t count = 1;     // of the trigger
  std::int64_t interval = 1;  // or timeout, or threshold
  TimeoutOptions timeout{};
  EvictorKind evictor{};
  std::int64_t evictor_keeps = 1;
  Eviction eviction{};
  std::int64_t lateness = 0;
  bool all_elements = false;  // or an aggregate

  [[nodiscard]] bool merges() const {
    return assigner == AssignerKind::session || assigner == AssignerKind::dynamic;
  }
  [[nodiscard]] std::int64_t gap_of(const Item& item) const {
    return assigner == AssignerKind::dynamic ? 1 + item.value % size : size;
  }

  [[nodiscard]] static WindowPlan random(Random& random) {
    const auto up_to = [&random](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
    };
    WindowPlan plan;
    plan.assigner = static_cast<AssignerKind>(random.below(6));
    plan.domain = random.below(4) == 0 && plan.assigner != AssignerKind::global
                      ? TimeDomain::processing
                      : TimeDomain::event;
    plan.slide = up_to(8);
    plan.size = plan.assigner == AssignerKind::cumulative ? plan.slide * up_to(5) : up_to(20);
    const std::int64_t every = plan.assigner == AssignerKind::sliding ? plan.slide : plan.size;
    plan.offset = up_to(2 * every - 1) - every;
    const auto triggers = static_cast<std::uint64_t>(TriggerKind::delta) + (plan.merges() ? 0 : 1);
    plan.trigger = random.below(3) == 0 && plan.assigner != AssignerKind::global
                       ? TriggerKind::at_end
                       : static_cast<TriggerKind>(random.below(triggers));
    plan.purging = random.below(2) == 0;
    plan.count = up_to(4);
    plan.interval = up_to(12);
    plan.timeout = {.reset_on_new_record = random.below(2) == 0,
                    .clear_on_timeout = random.below(2) == 0};
    plan.evictor = static_cast<EvictorKind>(random.below(2) * random.below(3));
    plan.evictor_keeps = up_to(4);
    plan.eviction = random.below(2) == 0 ? Eviction::before : Eviction::after;
    plan.lateness = plan.domain == TimeDomain::event && random.below(2) == 0 ? up_to(10) : 0;
    plan.all_elements = plan.evictor != EvictorKind::none || random.below(2) == 0;
    return plan;
  }

  [[nodiscard]] std::string to_text() const {
    constexpr const char* assigners[] = {"tumbling", "sliding", "cumulative",
                                         "session",  "dynamic", "global"};
    constexpr const char* triggers[] = {"at_end",
                                        "event_time",
                                        "processing_time",
                                        "count",
                                        "continuous_event",
                                        "continuous_proc",
                                        "timeout_of_count",
                                        "timeout_of_event_time",
                                        "end_of_input",
                                        "never",
                                        "delta"};
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    return std::string(assigners[static_cast<int>(assigner)]) +
           (domain == TimeDomain::event ? " event" : " processing") + " size " + number(size) +
           " slide " + number(slide) + " offset " + number(offset) + ", trigger " +
           triggers[static_cast<int>(trigger)] + (purging ? " purging" : "") + " count " +
           number(count) + " interval " + number(interval) +
           (timeout.reset_on_new_record ? " reset" : "") +
           (timeout.clear_on_timeout ? " clear" : "") + ", evictor " +
           number(static_cast<int>(evictor)) + " keeps " + number(evictor_keeps) +
           (eviction == Eviction::before ? " before" : " after") + ", lateness " +
           number(lateness) + (all_elements ? ", elements" : ", aggregate");
  }
};

template <bool Merging>
struct PlannedAssigner {
  static constexpr bool merging = Merging;
  static constexpr bool needs_trigger = false;
  WindowPlan plan;

  void assign(const Item& item, EventTime time, std::vector<Window>& windows) const {
    const Duration size{plan.size};
    const Duration slide{plan.slide};
    const Duration offset{plan.offset};
    switch (plan.assigner) {
      case AssignerKind::tumbling:
        return Tumbling::of(size, offset).assign(item, time, windows);
      case AssignerKind::sliding:
        return Sliding::of(size, slide, offset).assign(item, time, windows);
      case AssignerKind::cumulative:
        return Cumulative::of(size, slide, offset).assign(item, time, windows);
      case AssignerKind::session:
        return Session::with_gap(size).assign(item, time, windows);
      case AssignerKind::dynamic:
        return Session::with_gap_of([this](const Item& it) { return Duration{plan.gap_of(it)}; })
            .assign(item, time, windows);
      case AssignerKind::global:
        return Global{}.assign(item, time, windows);
    }
  }
  [[nodiscard]] TimeDomain domain() const { return plan.domain; }
  [[nodiscard]] std::optional<std::string> mistake() const { return {}; }
  [[nodiscard]] std::string name() const { return "planned window"; }
};

[[nodiscard]] inline double value_delta(const Item& last, const Item& item) {
  return std::abs(static_cast<double>(item.value - last.value));
}

struct PlannedTrigger {
  using Delta = DeltaTrigger<Item, double (*)(const Item&, const Item&)>;
  struct State {
    TriggerState<CountTrigger> count;
    TriggerState<ContinuousEventTimeTrigger> continuous_event;
    TriggerState<ContinuousProcessingTimeTrigger> continuous_processing;
    TriggerState<TimeoutTrigger<CountTrigger>> timeout_of_count;
    TriggerState<TimeoutTrigger<EventTimeTrigger>> timeout_of_event_time;
    TriggerState<Delta> delta;
  };
  WindowPlan plan;

  TriggerResult on_element(const Item& item, EventTime time, TriggerContext& ctx, State& state) {
    return wrapped(state, [&](auto trigger, auto& own) {
      return trigger_detail::on_element(trigger, item, time, ctx, own);
    });
  }
  TriggerResult on_event_time(EventTime time, TriggerContext& ctx, State& state) {
    return wrapped(state, [&](auto trigger, auto& own) {
      return trigger_detail::on_event_time(trigger, time, ctx, own);
    });
  }
  TriggerResult on_processing_time(ProcessingTime time, TriggerContext& ctx, State& state) {
    return wrapped(state, [&](auto trigger, auto& own) {
      return trigger_detail::on_processing_time(trigger, time, ctx, own);
    });
  }
  void merge(State& into, const State& other) {
    CountTrigger{}.merge(into.count, other.count);
    ContinuousEventTimeTrigger{}.merge(into.continuous_event, other.continuous_event);
    ContinuousProcessingTimeTrigger{}.merge(into.continuous_processing,
                                            other.continuous_processing);
    timeout(CountTrigger{}, Duration{}).merge(into.timeout_of_count, other.timeout_of_count);
    timeout(EventTimeTrigger{}, Duration{})
        .merge(into.timeout_of_event_time, other.timeout_of_event_time);
  }

 private:
  template <class Ask>
  TriggerResult wrapped(State& state, Ask ask) {
    const auto purged = [&](auto trigger, auto& own) {
      return plan.purging ? ask(weir::purging(trigger), own) : ask(trigger, own);
    };
    const Duration interval{plan.interval};
    trigger_detail::NoState none;
    switch (plan.trigger) {
      case TriggerKind::at_end:
        return purged(DefaultTrigger{}, none);
      case TriggerKind::event_time:
        return purged(EventTimeTrigger{}, none);
      case TriggerKind::processing_time:
        return purged(ProcessingTimeTrigger{}, none);
      case TriggerKind::count:
        return purged(CountTrigger{plan.count}, state.count);
      case TriggerKind::continuous_event:
        return purged(ContinuousEventTimeTrigger{interval}, state.continuous_event);
      case TriggerKind::continuous_processing:
        return purged(ContinuousProcessingTimeTrigger{interval}, state.continuous_processing);
      case TriggerKind::timeout_of_count:
        return purged(weir::timeout(CountTrigger{plan.count}, interval, plan.timeout),
                      state.timeout_of_count);
      case TriggerKind::timeout_of_event_time:
        return purged(weir::timeout(EventTimeTrigger{}, interval, plan.timeout),
                      state.timeout_of_event_time);
      case TriggerKind::end_of_input:
        return purged(EndOfInputTrigger{}, none);
      case TriggerKind::never:
        return purged(NeverTrigger{}, none);
      case TriggerKind::delta:
        return purged(Delta{static_cast<double>(plan.interval), value_delta}, state.delta);
    }
    return TriggerResult::continue_;
  }
};

struct PlannedEvictor {
  WindowPlan plan;
  Eviction when = plan.eviction;

  void evict(WindowElements<Item>& elements, const Window& window) const {
    if (plan.evictor == EvictorKind::count)
      CountEvictor{plan.evictor_keeps}.evict(elements, window);
    if (plan.evictor == EvictorKind::time)
      TimeEvictor{Duration{plan.evictor_keeps}}.evict(elements, window);
  }
};

}  // namespace weir
