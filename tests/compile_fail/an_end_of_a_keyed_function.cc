// expect: weir: on_end is for functions without key; per key, set a Timer at EventTime::max()
#include <functional>

#include "dataflow/api/job.h"

struct Last {
  void on_element(const int& number, weir::KeyedContext<int, int>& ctx) { ctx.emit(number); }
  void on_end(weir::KeyedContext<int, int>&) {}
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by(std::identity{}).process("last", Last{});
}
