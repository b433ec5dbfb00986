// expect: weir: map needs a function that returns something; use filter or process
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  (void)numbers.map([](int) {});
}
