// expect: weir: a window function takes WindowContext<K, Out>& with the stream's key type K
#include "dataflow/api/job.h"

struct Counts {
  void on_window(std::span<const int> numbers, weir::WindowContext<std::string, int>& ctx) {
    ctx.emit(static_cast<int>(numbers.size()));
  }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Tumbling::of(weir::Duration{1000}))
      .process("counts", Counts{});
}
