// expect: weir: this function has state or timers, which belong to a key: put .key_by(…) before .process(…)
#include "dataflow/api/job.h"

struct Counter {
  weir::ValueState<int> seen{};
  void on_element(const int&, weir::Context<int>& ctx) { ctx.emit(++seen.update()); }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.process("counter", Counter{});
}
