// Random windowed steps on random streams against a model of them: with bursts, late records, equal times, the ends of time, and
// a restore somewhere. A failure is made small before it is shown.
#include "tests/dataflow/window_model/window_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/harness.h"
#include "tests/dataflow/window_model/window_plan.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

struct ModelStep {
  std::vector<Record<Item>> records{};  // that come together
  std::optional<std::int64_t> watermark{};
  std::optional<std::int64_t> processing_time{};
  bool restore = false;
};
using ModelSteps = std::vector<ModelStep>;
using StepOutputs = std::vector<Texts>;  // sorted, by step

struct Listed {
  void on_window(std::span<const Item> items, WindowContext<std::string, std::string>& ctx) {
    std::string text = ctx.key() + " [" + std::to_string(ctx.window().start.ms) + "," +
                       std::to_string(ctx.window().end.ms) + ")";
    for (const Item& item : items) text += " " + std::to_string(item.value);
    ctx.emit(text);
  }
};

template <bool Merging>
Stream<std::string> windowed(Stream<Item> in, const WindowPlan& plan) {
  const auto base = in.key_by(&Item::key)
                        .window(PlannedAssigner<Merging>{plan})
                        .trigger(PlannedTrigger{plan})
                        .allowed_lateness(Duration{plan.lateness});
  if (plan.all_elements) {
    auto out = base.evictor(PlannedEvictor{plan}).process("window", Listed{});
    (void)out.late();
    return out;
  }
  auto out = base.aggregate("window", Sum<std::int64_t Item::*, std::int64_t>{&Item::value},
                            [](const std::string& key, Window window, std::int64_t sum) {
                              return key + " [" + std::to_string(window.start.ms) + "," +
                                     std::to_string(window.end.ms) + ") sum " + std::to_string(sum);
                            });
  (void)out.late();
  return out;
}

StepOutputs of_engine(const WindowPlan& plan, const ModelSteps& steps) {
  using Harness = StreamHarness<Item, std::string>;
  const auto describe = [&plan](Stream<Item> in) {
    return plan.merges() ? windowed<true>(in, plan) : windowed<false>(in, plan);
  };
  const bool timers_come_at_once =
      plan.domain == TimeDomain::processing || plan.trigger == TriggerKind::processing_time;
  auto harness = std::make_unique<Harness>(describe);
  std::int64_t now = 0;
  StepOutputs outputs;
  for (const ModelStep& step : steps) {
    if (step.restore) {
      harness = std::make_unique<Harness>(
          describe, HarnessOptions{.processing_time = {now}, .restored = harness->snapshot()});
    }
    if (timers_come_at_once) {  // also between the records of a batch, or not
      for (const auto& [item, time] : step.records) harness->push(item, time);
    } else {
      harness->push_batch(step.records);
    }
    if (step.watermark) harness->watermark(EventTime{*step.watermark});
    if (step.processing_time) harness->set_processing_time({now = *step.processing_time});
    Texts texts = harness->take_values();
    for (const Item& item : harness->take_late<Item>())
      texts.push_back("LATE " + item.key + " " + std::to_string(item.value));
    if (!harness->status()) texts.push_back(harness->status().error().message);
    std::ranges::sort(texts);
    outputs.push_back(std::move(texts));
  }
  // All windows that can be over are over: nothing may be left of them.
  if (plan.assigner != AssignerKind::global) {
    for (const auto& [node, parts] : harness->snapshot()) {
      for (const RestoredState& part : parts) {
        for (const RestoredKeyedState& state : part.keyed) {
          if (!state.groups.empty()) outputs.back().push_back("state is left");
        }
      }
    }
  }
  return outputs;
}

StepOutputs of_model(const WindowPlan& plan, const ModelSteps& steps) {
  WindowModel model(plan);
  std::int64_t now = 0;
  StepOutputs outputs;
  for (const ModelStep& step : steps) {
    for (const auto& [item, time] : step.records) {
      model.push(item, time.ms);
      model.processing_time(now);  // what has been set for a time that has passed comes at once
    }
    if (step.watermark) model.watermark(*step.watermark);
    if (step.processing_time) model.processing_time(now = *step.processing_time);
    outputs.push_back(model.take());
  }
  return outputs;
}

ModelSteps random_steps(Random& random) {
  const auto up_to = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
  };
  // Around 0, around a day of our time, at the ends of time.
  constexpr std::int64_t bases[] = {0, 1'000'000, EventTime::min().ms + 1,
                                    EventTime::max().ms - 120};
  const std::int64_t base = bases[random.below(3) == 0 ? random.below(4) : random.below(2)];
  const std::int64_t from = base == 0 ? -50 : base;
  std::int64_t watermark = from;
  std::int64_t newest = 0;
  std::int64_t now = 0;
  ModelSteps steps;
  const auto count = static_cast<std::size_t>(5 + random.below(30));
  for (std::size_t i = 0; i < count; ++i) {
    ModelStep step;
    const std::uint64_t kind = random.below(10);
    if (kind < 6) {
      const std::uint64_t records = random.below(4) == 0 ? 1 + random.below(6) : 1;
      for (std::uint64_t r = 0; r < records; ++r) {
        if (random.below(2) == 0) newest = std::min<std::int64_t>(newest + up_to(8), 119);
        const std::int64_t time = from + std::max<std::int64_t>(0, newest - up_to(20));
        step.records.push_back(
            {Item{std::string(1, static_cast<char>('a' + random.below(3))), 1 + up_to(20)},
             EventTime{random.below(40) == 0 && base > 1'000'000 ? EventTime::max().ms : time}});
      }
    } else if (kind < 8) {
      const std::int64_t next = from + std::max<std::int64_t>(0, newest - up_to(10));
      step.watermark = watermark = std::max(watermark, next);
    } else if (kind < 9) {
      step.processing_time = now = now + up_to(12);
    }
    step.restore = random.below(8) == 0;
    steps.push_back(std::move(step));
  }
  steps.push_back({.processing_time = now + 1000});
  steps.push_back({.watermark = EventTime::max().ms});
  return steps;
}

bool differ(const WindowPlan& plan, const ModelSteps& steps) {
  return of_engine(plan, steps) != of_model(plan, steps);
}

// Leaves out what is not needed for a difference.
ModelSteps shrunk(const WindowPlan& plan, ModelSteps steps) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = 0; i + 2 < steps.size() && !smaller; ++i) {
      ModelSteps fewer = steps;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (differ(plan, fewer)) {
        steps = std::move(fewer);
        smaller = true;
      }
    }
    for (std::size_t i = 0; i < steps.size() && !smaller; ++i) {
      for (std::size_t r = 0; r < steps[i].records.size() && !smaller; ++r) {
        ModelSteps fewer = steps;
        fewer[i].records.erase(fewer[i].records.begin() + static_cast<std::ptrdiff_t>(r));
        smaller = differ(plan, fewer);
        if (smaller) steps = std::move(fewer);
      }
      if (!smaller && steps[i].restore) {
        ModelSteps fewer = steps;
        fewer[i].restore = false;
        smaller = differ(plan, fewer);
        if (smaller) steps = std::move(fewer);
      }
    }
  }
  return steps;
}

std::string to_text(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

std::string told(const WindowPlan& plan, const ModelSteps& steps) {
  const StepOutputs engine = of_engine(plan, steps);
  const StepOutputs model = of_model(plan, steps);
  std::string text = plan.to_text() + "\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ModelStep& step = steps[i];
    if (step.restore) text += "  restore\n";
    for (const auto& [item, time] : step.records)
      text += "  " + item.key + " " + std::to_string(item.value) + " @" + std::to_string(time.ms) +
              "\n";
    if (step.watermark) text += "  watermark " + std::to_string(*step.watermark) + "\n";
    if (step.processing_time)
      text += "  processing time " + std::to_string(*step.processing_time) + "\n";
    if (engine[i] != model[i]) {
      text += "    engine: " + to_text(engine[i]) + "\n    model:  " + to_text(model[i]) + "\n";
    } else if (!model[i].empty()) {
      text += "    " + to_text(model[i]) + "\n";
    }
  }
  return text;
}

TEST(WindowModel, random_windows_on_random_streams_do_what_the_model_does) {
  constexpr std::uint64_t seeds = 4000 / seeds_divisor;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    const WindowPlan plan = WindowPlan::random(random);
    const ModelSteps steps = random_steps(random);
    if (!differ(plan, steps)) continue;
    FAIL() << "seed " << seed << ": " << told(plan, shrunk(plan, steps));
  }
}

}  // namespace
}  // namespace weir
