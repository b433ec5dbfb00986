// expect: weir: a window function has no timers: the trigger of its windows says when it is called
#include "dataflow/api/job.h"

struct Reminders {
  weir::Timer timer{};
  void on_window(const std::vector<int>& left, const std::vector<int>& right,
                 weir::WindowContext<int, int>& ctx) {
    ctx.emit(static_cast<int>(left.size() + right.size()));
  }
};

void describe(weir::Stream<int> numbers) {
  const auto keyed = numbers.key_by([](int x) { return x; });
  (void)keyed.co_group(keyed)
      .window(weir::Tumbling::of(weir::Duration{1000}))
      .process("reminders", Reminders{});
}
