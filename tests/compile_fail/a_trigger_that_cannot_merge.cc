// expect: weir: these windows merge, so their trigger, which has a State, needs void merge(State& into, const State& other)
#include "dataflow/api/job.h"
#include "dataflow/window/session.h"
#include "dataflow/window/triggers/delta_trigger.h"

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Session::with_gap(weir::Duration{1000}))
      .trigger(weir::delta_trigger<int>(1, [](int last, int x) { return x - last; }))
      .count("sessions");
}
