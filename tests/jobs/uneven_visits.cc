// Visits per user and minute from two sources, one of them late by the given time; most visits are one user's. With a drift, the other
// waits for it.
#include <chrono>
#include <cstdint>

#include "actors/launch.h"

using namespace weir;
using namespace std::chrono_literals;

struct Visit {
  EventTime at;
  std::int64_t user = 0;
};

static constexpr double visits_per_second = 20'000;
static constexpr EventTime begin{1'700'000'000'000};

// A second of event time per second.
static Visit visit(std::uint64_t index, Duration late) {
  const Duration since{
      static_cast<std::int64_t>(1000 * static_cast<double>(index) / visits_per_second)};
  const auto user = static_cast<std::int64_t>(index % 10 < 8 ? 7 : index % 1'000);
  return {begin + since - late, user};
}

static void uneven_visits(Job& job) {
  const auto late = job.option<Duration>("late", "of the visits by phone", Duration{0});
  const auto drift =
      job.option<Duration>("drift", "between the sources; 0: as it comes", Duration{0});
  const auto strategy =
      drift > Duration{0} ? monotonous().with_alignment("visits", drift, 200ms) : monotonous();
  const auto phone =
      job.source("phone", generator([late](std::uint64_t i) { return visit(i, late); },
                                    {.records_per_second = visits_per_second}))
          .event_time(&Visit::at, strategy);
  const auto desk = job.source("desk", generator([](std::uint64_t i) { return visit(i, {}); },
                                                 {.records_per_second = visits_per_second}))
                        .event_time(&Visit::at, strategy);
  desk.union_with(phone)
      .key_by(&Visit::user)
      .window(Tumbling::of(1min))
      .count("visits")
      .to("out", discard());
}

int main(int argc, char** argv) {
  return launch(argc, argv, uneven_visits);
}
