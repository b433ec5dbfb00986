// expect: weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, Out>&)
#include "dataflow/api/job.h"

struct Forgetful {
  weir::Timer timer{};
  void on_element(const int& x, weir::KeyedContext<int, int>&) { timer.at(weir::EventTime{x}); }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; }).process("forgetful", Forgetful{});
}
