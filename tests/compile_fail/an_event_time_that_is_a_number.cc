// expect: weir: event_time needs an EventTime or a std::chrono::sys_time
#include "dataflow/api/job.h"

struct Hit {
  long at = 0;
};

void describe(weir::Stream<Hit> hits) {
  (void)hits.event_time(&Hit::at, weir::monotonous());
}
