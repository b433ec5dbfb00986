// expect: weir: window needs Tumbling, Sliding, Cumulative, Session, Global, or a type with std::vector<Window> windows_of(const T&, EventTime) const
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; }).window(weir::Duration{1000});
}
