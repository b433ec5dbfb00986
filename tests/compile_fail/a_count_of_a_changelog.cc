// expect: weir: the rows of a changelog may be taken back, which this step does not know: join changelogs, or put .changes() before .key_by(…)
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  numbers.changelog([](int) { return weir::RowKind::remove; })
      .key_by([](int x) { return x; })
      .count("count");
}
