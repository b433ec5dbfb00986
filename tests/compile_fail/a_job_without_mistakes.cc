// expect: nothing
// Shows that the other programs fail for the reason they name, and not for a flag or an include.
#include "dataflow/api/job.h"

struct Count {
  weir::ValueState<int> seen{};
  weir::Timer timer{};
  void on_element(const int& x, weir::KeyedContext<int, int>& ctx) {
    ctx.emit(x + ++seen.update());
  }
  void on_timer(const weir::TimerFiring&, weir::KeyedContext<int, int>&) {}
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.map([](int x) { return x / 2; })
      .key_by([](int x) { return x; })
      .process("count", Count{});
}
