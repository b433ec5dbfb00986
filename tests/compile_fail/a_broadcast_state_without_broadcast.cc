// expect: weir: only a broadcast stream may change a BroadcastState: connect this stream with one, .connect(rules.broadcast())
#include "dataflow/api/job.h"

struct Rules {
  weir::BroadcastState<int, int> rules{};
  void on_element(const int&, weir::Context<int>& ctx) { ctx.emit(1); }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.process("rules", Rules{});
}
