// expect: weir: a function on a keyed stream takes KeyedContext<K, Out>& with the stream's key type K
#include <string>

#include "dataflow/api/job.h"

struct ByText {
  void on_element(const int& x, weir::KeyedContext<std::string, int>& ctx) { ctx.emit(x); }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; }).process("by text", ByText{});
}
