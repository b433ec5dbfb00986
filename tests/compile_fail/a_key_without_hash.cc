// expect: weir: this key has no hash: use numbers, strings, enums, times, or aggregates of them
#include "dataflow/api/job.h"

class Opaque {
 public:
  Opaque() {}

 private:
  int secret_ = 0;
};
struct Visit {
  Opaque visitor;
};

void describe(weir::Stream<Visit> visits) {
  (void)visits.key_by(&Visit::visitor);
}
