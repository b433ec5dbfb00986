// expect: weir: map needs a function callable with a const record
#include <string>

#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  (void)numbers.map([](const std::string& text) { return text; });
}
