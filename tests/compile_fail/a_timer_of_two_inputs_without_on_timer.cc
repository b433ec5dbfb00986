// expect: weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, Out>&)
#include "dataflow/api/job.h"

struct Forgetful {
  weir::Timer timer{};
  void on_element1(const int& x, weir::KeyedContext<int, int>&) { timer.at(weir::EventTime{x}); }
  void on_element2(const int&, weir::KeyedContext<int, int>&) {}
};

void describe(weir::Stream<int> a, weir::Stream<int> b) {
  const auto key = [](int x) { return x; };
  (void)a.key_by(key).connect(b.key_by(key)).process("forgetful", Forgetful{});
}
