// expect: weir: this type cannot be (in) a key: make it an aggregate of hashable fields
#include "dataflow/api/stream.h"

class Opaque {
 public:
  Opaque() {}

 private:
  int secret_ = 0;
};
struct Visit {
  Opaque visitor;
};

void describe(weir::Stream<Visit> visits) { (void)visits.key_by(&Visit::visitor); }
