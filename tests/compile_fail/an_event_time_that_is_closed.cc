// expect: weir: open and close would not be called here: they are for functions of map
#include "dataflow/api/job.h"

struct TimeOf {
  weir::EventTime operator()(int x) const { return weir::EventTime{x}; }
  void close() {}
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.event_time(TimeOf{}, weir::monotonous());
}
