// expect: weir: this function works per key: put .key_by(…) before .process(…)
#include "dataflow/api/job.h"

struct PerKey {
  void on_element(const int& x, weir::KeyedContext<int, int>& ctx) { ctx.emit(x); }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.process("per key", PerKey{});
}
