// expect: weir: windows are per key: put .key_by(…) before, or say .window_all(…)
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  numbers.window(weir::Tumbling::of(weir::Duration{1000}));
}
