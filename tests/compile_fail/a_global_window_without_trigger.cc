// expect: weir: a global window never ends by itself: say when it fires, .trigger(…)
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; }).window(weir::Global{}).count("all");
}
