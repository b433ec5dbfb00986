// expect: weir: the rows of a changelog may be taken back, which this step does not know: join changelogs, or put .changes() before
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  numbers.changelog([](int) { return weir::RowKind::remove; }).map([](int x) { return x; });
}
