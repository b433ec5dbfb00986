#include "dataflow/api/rich_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Log = std::shared_ptr<std::vector<std::string>>;

// Says what happens to it.
struct Doubled {
  Log log;
  Counter odd{};

  void open(const FunctionContext& context) {
    odd = context.counter("odd numbers");
    log->push_back("open " + context.step_name() + " " + std::to_string(context.subtask()) + "/" +
                   std::to_string(context.parallelism()));
  }
  int operator()(int x) {
    log->push_back("call");
    if (x % 2 != 0) odd.add();
    return 2 * x;
  }
  void close() { log->push_back("close"); }
};

TEST(RichFunction, is_opened_before_its_first_record_and_closed_after_the_last) {
  const Log log = std::make_shared<std::vector<std::string>>();
  {
    StreamHarness<int, int> harness(
        [&](Stream<int> in) { return in.map(Doubled{log}).named("double"); });
    harness.push(3);
    harness.push(4);
    harness.end_input();
    EXPECT_THAT(harness.take_values(), ElementsAre(6, 8));
    EXPECT_EQ(harness.counter("odd numbers"), 1);
  }
  EXPECT_THAT(*log, ElementsAre("open double 0/1", "call", "call", "close"));
}

struct KeyedLife {
  Log log;
  ValueState<int> seen{};

  void open(const FunctionContext&) { log->push_back("open"); }
  void on_element(const int& x, KeyedContext<int, int>& ctx) { ctx.emit(x); }
  void close() { log->push_back("close"); }
};

TEST(RichFunction, a_process_function_is_opened_and_closed_too) {
  const Log log = std::make_shared<std::vector<std::string>>();
  {
    StreamHarness<int, int> harness([&](Stream<int> in) {
      return in.key_by([](int x) { return x; }).process("life", KeyedLife{log});
    });
    harness.push(1);
    EXPECT_THAT(*log, ElementsAre("open"));
  }
  EXPECT_THAT(*log, ElementsAre("open", "close")) << "also when the job ends early";
}

// Functions of other kinds, with the same life.
struct Life {
  Log log;
  void open(const FunctionContext& context) { log->push_back("open " + context.step_name()); }
  void close() { log->push_back("close"); }
};
struct ParsingLife : Life {
  std::optional<int> operator()(int x) { return x; }
};
struct JoiningLife : Life {
  int operator()(int left, int right) { return left + right; }
};
struct WindowLife {
  Log log;
  void open(const FunctionContext& context) { log->push_back("open " + context.step_name()); }
  void on_window(std::span<const int> numbers, WindowContext<int, int>& ctx) {
    ctx.emit(static_cast<int>(numbers.size()));
  }
  void close() { log->push_back("close"); }
};
struct CoGroupLife {
  Log log;
  void open(const FunctionContext& context) { log->push_back("open " + context.step_name()); }
  void on_window(const std::vector<int>& left, const std::vector<int>& right,
                 WindowContext<int, int>& ctx) {
    ctx.emit(static_cast<int>(left.size() + right.size()));
  }
  void close() { log->push_back("close"); }
};

TEST(RichFunction, functions_of_parse_windows_and_joins_are_opened_and_closed_too) {
  const auto whole = [](int) { return 0; };
  const Duration size{1000};
  using Describe = std::function<Stream<int>(Stream<int>, Log)>;
  const std::vector<Describe> kinds{
      [](Stream<int> in, Log log) { return in.parse("life", ParsingLife{{log}}); },
      [&](Stream<int> in, Log log) {
        return in.key_by(whole).window(Tumbling::of(size)).process("life", WindowLife{log});
      },
      [&](Stream<int> in, Log log) {
        const auto keyed = in.key_by(whole);
        return keyed.co_group(keyed).window(Tumbling::of(size)).process("life", CoGroupLife{log});
      },
      [&](Stream<int> in, Log log) {
        const auto keyed = in.key_by(whole);
        return keyed.join(keyed).window(Tumbling::of(size)).process("life", JoiningLife{{log}});
      },
      [&](Stream<int> in, Log log) {
        const auto keyed = in.key_by(whole);
        return keyed.interval_join(keyed).between(-size, size).process("life", JoiningLife{{log}});
      }};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    SCOPED_TRACE(testing::Message() << "kind " << kind);
    const Log log = std::make_shared<std::vector<std::string>>();
    {
      StreamHarness<int, int> harness([&](Stream<int> in) { return kinds[kind](in, log); });
      harness.push(1, EventTime{1});
      harness.end_input();
      EXPECT_EQ(harness.take_values().size(), 1U);
    }
    EXPECT_THAT(*log, ElementsAre("open life", "close"));
  }
}

struct CannotOpen {
  void open(const FunctionContext&) { throw std::runtime_error("no such table"); }
  bool operator()(int) const { return true; }
};

TEST(RichFunction, an_exception_of_open_fails_the_task) {
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.filter(CannotOpen{}).named("keep"); });
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("user function of 'keep' threw an exception: no such table"));
}

struct CannotClose {
  int operator()(int x) const { return x; }
  void close() { throw std::runtime_error("lost"); }
};

TEST(RichFunction, an_exception_of_close_harms_nothing) {
  StreamHarness<int, int> harness([](Stream<int> in) { return in.map(CannotClose{}); });
  harness.push(1);
  harness.end_input();
  EXPECT_TRUE(harness.status());
  EXPECT_TRUE(harness.finished());
}

}  // namespace
}  // namespace weir
