// expect: weir: an aggregate needs a default-constructible Accumulator, add(Accumulator&, const T&) const and result
#include "dataflow/api/job.h"

struct Endless {
  using Accumulator = int;
  void add(Accumulator& sum, int x) const { sum += x; }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; }).aggregate("endless", Endless{});
}
