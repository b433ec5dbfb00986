// expect: weir: open and close would not be called here: they are for functions of map
#include "dataflow/api/job.h"

struct Opened : weir::Count {
  void open(const weir::FunctionContext& /*context*/) {}
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Tumbling::of(weir::Duration{1000}))
      .aggregate("opened", Opened{});
}
