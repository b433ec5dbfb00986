// expect: weir: a left join needs a function (const Left&, const Right*) → row: the right one is null if there is none
#include "dataflow/api/job.h"

void describe(weir::Stream<int> numbers) {
  const auto rows =
      numbers.changelog([](int) { return weir::RowKind::insert; }).key_by([](int x) { return x; });
  (void)rows.left_join(rows).process("join", [](int a, int b) { return a + b; });
}
