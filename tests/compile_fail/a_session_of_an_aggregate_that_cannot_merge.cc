// expect: weir: these windows merge, so their aggregate needs void merge(Accumulator& into, const Accumulator& other) const
#include "dataflow/api/job.h"
#include "dataflow/window/session.h"

struct Last {
  using Accumulator = int;
  void add(Accumulator& last, int x) const { last = x; }
  [[nodiscard]] int result(Accumulator last) const { return last; }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Session::with_gap(weir::Duration{1000}))
      .aggregate("last", Last{});
}
