// expect: weir: a window function has no timers: the trigger of its windows says when it is called
#include "dataflow/api/job.h"

struct Reminders {
  weir::Timer timer{};
  void on_window(std::span<const int> numbers, weir::WindowContext<int, int>& ctx) {
    ctx.emit(static_cast<int>(numbers.size()));
  }
};

void describe(weir::Stream<int> numbers) {
  (void)numbers.key_by([](int x) { return x; })
      .window(weir::Tumbling::of(weir::Duration{1000}))
      .process("reminders", Reminders{});
}
