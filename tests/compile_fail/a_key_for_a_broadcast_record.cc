// expect: weir: records of the broadcast stream have no key: on_element2 takes (const B&, Context<Out>&)
#include "dataflow/api/weir.h"

struct Rules {
  void on_element1(const int&, weir::KeyedContext<int, int>& ctx) { ctx.emit(1); }
  void on_element2(const int&, weir::KeyedContext<int, int>& ctx) { ctx.emit(2); }
};

void describe(weir::Stream<int> numbers, weir::Stream<int> rules) {
  (void)numbers.key_by([](int x) { return x; })
      .connect(rules.broadcast())
      .process("rules", Rules{});
}
