// expect: weir: the function's KeyedContext must name the stream's key type
#include <string>

#include "dataflow/api/job.h"

struct ByText {
  void on_element(const int& x, weir::KeyedContext<std::string, int>& ctx) { ctx.emit(x); }
};

void describe(weir::Stream<int> numbers) { (void)numbers.key_by([](int x) { return x; }).process("by text", ByText{}); }
