// The watermarks that a step with state has, of several inputs: what it goes by, before and after a restore.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"

namespace weir {
namespace {

// A step with state that does nothing.
struct Remember {
  ValueState<int> state{};
  void on_element(const int& value, KeyedContext<int, int>&) { state.set(value); }
};

// As many inputs as asked for, united.
template <std::size_t Inputs>
class UnitedInputs : public HarnessOutput<int> {
 public:
  template <class Describe>
  UnitedInputs(const Describe& describe, HarnessOptions options)
      : HarnessOutput<int>(std::move(options)) {
    Stream<int> united(run_.builder(), {run_.add_input<int>()});
    for (std::size_t i = 1; i < Inputs; ++i)
      united = united.union_with(Stream<int>(run_.builder(), {run_.add_input<int>()}));
    run_.start(describe(united).origins());
  }

  [[nodiscard]] HarnessInput<int> input(std::uint32_t index) { return {run_, {index}}; }
};

template <std::size_t Inputs>
class WatermarkScript {
 public:
  using Texts = OutputTexts::Texts;

  WatermarkScript& at(std::uint32_t input, std::int64_t ms) {
    script_.control([=](Harness& harness) { harness.input(input).watermark(EventTime{ms}); });
    return *this;
  }
  WatermarkScript& sleep(std::uint32_t input) { return set_idle(input, true); }
  WatermarkScript& wake(std::uint32_t input) { return set_idle(input, false); }
  WatermarkScript& expect(const Texts& texts) {
    script_.expect(texts);
    return *this;
  }
  void run() const { script_.run(); }

 private:
  using Harness = UnitedInputs<Inputs>;

  WatermarkScript& set_idle(std::uint32_t input, bool idle) {
    script_.control([=](Harness& harness) { harness.input(input).idle(idle); });
    return *this;
  }

  HarnessScript<Harness> script_{[](const Stream<int>& in) {
    return in.key_by([](int x) { return x; }).process("remember", Remember{});
  }};
};

TEST(Watermarks, of_one_input_pass_if_they_are_beyond_the_last) {
  WatermarkScript<1>()
      .at(0, 25)
      .expect({"WM 25"})
      .at(0, 18)
      .expect({})
      .at(0, 42)
      .expect({"WM 42"})
      .run();
}

TEST(Watermarks, of_several_inputs_are_that_of_the_slowest) {
  WatermarkScript<3>()
      .at(0, 0)
      .at(1, 0)
      .expect({})
      .at(2, 0)
      .expect({"WM 0"})
      .at(0, 12)
      .at(2, 8)
      .at(2, 10)
      .expect({})
      .at(1, 15)
      .expect({"WM 10"})
      .at(2, 17)
      .expect({"WM 12"})
      .at(0, 20)
      .expect({"WM 15"})
      .run();
}

TEST(Watermarks, that_go_back_on_an_input_are_ignored) {
  WatermarkScript<3>()
      .at(0, 25)
      .at(1, 10)
      .expect({})
      .at(2, 17)
      .expect({"WM 10"})
      .at(0, 12)
      .at(1, 8)
      .at(2, 15)
      .expect({})
      .run();
}

TEST(Watermarks, an_idle_input_holds_nobody_back) {
  WatermarkScript<3>()
      .at(0, 15)
      .at(1, 10)
      .expect({})
      .sleep(2)
      .expect({"WM 10"})
      .at(1, 18)
      .expect({"WM 15"})
      .at(0, 20)
      .expect({"WM 18"})
      .run();
}

TEST(Watermarks, each_input_that_becomes_idle_lets_the_faster_ones_through) {
  WatermarkScript<3>()
      .at(0, 25)
      .at(1, 10)
      .at(2, 17)
      .expect({"WM 10"})
      .sleep(1)
      .expect({"WM 17"})
      .sleep(2)
      .expect({"WM 25"})
      .run();
}

TEST(Watermarks, the_last_input_to_become_idle_lets_the_largest_through_and_then_all_is_idle) {
  WatermarkScript<3>()
      .at(0, 10)
      .at(1, 5)
      .at(2, 3)
      .expect({"WM 3"})
      .sleep(0)
      .sleep(1)
      .expect({})
      .sleep(2)
      .expect({"WM 10", "IDLE"})
      .run();
}

TEST(Watermarks, of_an_idle_input_are_ignored_until_it_is_active_again) {
  WatermarkScript<1>()
      .at(0, 25)
      .expect({"WM 25"})
      .sleep(0)
      .expect({"IDLE"})
      .at(0, 50)
      .expect({})
      .wake(0)
      .expect({"ACTIVE"})
      .at(0, 50)
      .expect({"WM 50"})
      .run();
}

TEST(Watermarks, a_step_is_idle_when_all_inputs_are_and_active_as_soon_as_one_is) {
  WatermarkScript<2>()
      .wake(0)
      .sleep(0)
      .sleep(0)
      .expect({})
      .sleep(1)
      .expect({"IDLE"})
      .sleep(1)
      .expect({})
      .wake(1)
      .expect({"ACTIVE"})
      .wake(0)
      .expect({})
      .run();
}

}  // namespace
}  // namespace weir
