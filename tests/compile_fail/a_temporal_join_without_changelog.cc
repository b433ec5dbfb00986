// expect: weir: the versions of a temporal join are a changelog: put .changelog(…) before their .key_by(…)
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  const auto keyed = numbers.key_by([](int x) { return x; });
  keyed.temporal_join(keyed);
}
