// expect: weir: the rows of a join are kept in its state, so they need a codec, and a hash unless .unique_by(…) gives them an id
#include <map>

#include "dataflow/api/job.h"

struct Row {
  int key = 0;
  std::map<int, int> values;
};

void describe(weir::Stream<Row> in) {
  const auto rows =
      in.changelog([](const Row&) { return weir::RowKind::insert; }).key_by(&Row::key);
  (void)rows.join(rows).process("join", [](const Row& a, const Row&) { return a.key; });
}
