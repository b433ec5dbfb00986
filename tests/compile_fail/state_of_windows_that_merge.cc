// expect: weir: windows that merge have no WindowState: keep it in a ValueState of the key
#include "dataflow/api/job.h"
#include "dataflow/window/session.h"

struct Firings {
  weir::WindowState<int> firings{};
  void on_window(std::span<const int> /*numbers*/, weir::WindowContext<int, int>& ctx) {
    ctx.emit(++firings.update());
  }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Session::with_gap(weir::Duration{1000}))
      .process("firings", Firings{});
}
