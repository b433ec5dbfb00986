// expect: weir: this type has no codec: make it an aggregate of encodable fields
#include "dataflow/api/job.h"

class Opaque {
 public:
  explicit Opaque(int x) : secret_(x) {}

 private:
  int secret_;
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.map([](int x) { return Opaque(x); });
}
