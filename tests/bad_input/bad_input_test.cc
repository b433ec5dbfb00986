// One test for each row of docs/BAD_INPUT.md: the message names the culprit, the place and the
// remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string apps = std::string(WEIR_BINARY_DIR) + "/apps/";
const std::string data = std::string(WEIR_SOURCE_DIR) + "/apps/data/";

// Parts that a message must have.
void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
}

class BadInput : public testing::Test {
 protected:
  // word_count on an input, into a fresh output.
  [[nodiscard]] ChildResult count_words(std::vector<std::string> arguments) const {
    return run_program(apps + "word_count", arguments);
  }
  [[nodiscard]] ChildResult count_words_of(const std::string& input) const {
    return count_words({"--input", input, "--output", out()});
  }
  [[nodiscard]] ChildResult count_visitors_of(const std::string& input,
                                              std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{
        "--input", input, "--regions", data + "hourly_visitors/regions.csv", "--output", out()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(apps + "hourly_visitors", arguments);
  }
  [[nodiscard]] std::string out() const { return directory_.file("out"); }
  void expect_no_output() const {
    if (!std::filesystem::exists(out())) return;
    EXPECT_TRUE(std::filesystem::is_empty(out())) << "something is left in the output";
  }

  TemporaryDirectory directory_;
};

TEST_F(BadInput, unknown_option) {
  const auto result = count_words({"--inptu", "x", "--output", out()});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"word_count: ", "option --inptu is unknown", "--help"});
}

TEST_F(BadInput, missing_option) {
  const auto result = count_words({"--output", out()});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"option --input is missing", "files to count"});
}

TEST_F(BadInput, several_mistakes_are_told_at_once) {
  const auto result = count_words({"--colour", "red", "--split-size", "many"});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"--colour is unknown", "--input is missing", "--output is missing",
                           "--split-size is 'many'"});
}

TEST_F(BadInput, malformed_option) {
  const auto result = count_words({"--input", "x", "--output", out(), "--split-size", "4 bananas"});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"--split-size is '4 bananas'", "such as 4096, 64KB"});
}

TEST_F(BadInput, malformed_parallelism) {
  for (const std::string value : {"0", "-1", "two"}) {
    const auto result = count_words({"--input", "x", "--output", out(), "--parallelism", value});
    EXPECT_EQ(result.exit_code, 2) << value;
    expect_says(result.err, {"--parallelism"});
  }
}

TEST_F(BadInput, parallelism_over_the_maximum) {
  const auto result = count_words({"--input", data + "word_count/poem.txt", "--output", out(),
                                   "--parallelism", "8", "--max-parallelism", "4"});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"'count' is 8", "maximum of 4", "--max-parallelism"});
}

TEST_F(BadInput, unknown_key_in_the_configuration_file) {
  const std::string config = directory_.write("job.toml", "inptu = \"x\"\n");
  const auto result = count_words({"--config", config, "--output", out()});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"inptu", "unknown", "job.toml"});
}

TEST_F(BadInput, malformed_configuration_file) {
  const std::string config = directory_.write("job.toml", "input = \"x\"\noutput = = 3\n");
  const auto result = count_words({"--config", config});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"job.toml:2"});
}

TEST_F(BadInput, missing_configuration_file) {
  const auto result = count_words({"--config", directory_.file("nothing.toml")});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"nothing.toml"});
}

TEST_F(BadInput, missing_input) {
  const auto result = count_words_of(directory_.file("nothing.txt"));
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {"nothing.txt", "check"});
  expect_no_output();
}

TEST_F(BadInput, pattern_that_matches_nothing) {
  const auto result = count_words_of(directory_.file("*.log"));
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {"*.log", "match"});
}

TEST_F(BadInput, empty_directory_as_input) {
  const auto result = count_words_of(directory_.file(""));
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {directory_.file("").substr(0, 10)});
}

// Root reads everything, so the program runs as nobody.
TEST_F(BadInput, unreadable_input) {
  const std::string path = directory_.write("secret.txt", "words");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ASSERT_EQ(chmod(directory_.file("").c_str(), 0777), 0);
  std::string program = apps + "word_count";
  std::vector<std::string> arguments{"--input", path, "--output", out()};
  if (getuid() == 0) {
    if (!std::filesystem::exists("/usr/bin/setpriv"))
      GTEST_SKIP() << "no setpriv to become another user with";
    arguments.insert(arguments.begin(), {"--reuid=65534", "--clear-groups", program});
    program = "/usr/bin/setpriv";
  }
  const auto result = run_program(program, arguments);
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {"secret.txt", "Permission denied"});
}

TEST_F(BadInput, binary_file) {
  const std::string path = directory_.write("photo.jpg", std::string("\xff\xd8\x00\x10JFIF", 8));
  const auto result = count_words_of(path);
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {"photo.jpg", "binary", "text"});
  expect_no_output();
}

TEST_F(BadInput, truncated_gzip) {
  const std::string path = directory_.write(
      "log.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c", 12));
  const auto result = count_words_of(path);
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {"log.gz"});
  expect_no_output();
}

TEST_F(BadInput, existing_output) {
  directory_.write("out", "");
  std::filesystem::remove(out());
  std::filesystem::create_directory(out());
  std::ofstream(out() + "/part-0-0") << "precious\n";
  const auto result = count_words_of(data + "word_count/poem.txt");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {out(), "exists", "--overwrite"});
  EXPECT_EQ(read_file(out() + "/part-0-0"), "precious\n");
}

TEST_F(BadInput, output_that_is_a_file) {
  const std::string path = directory_.write("out", "precious\n");
  const auto result = count_words_of(data + "word_count/poem.txt");
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {path, "director"});
  EXPECT_EQ(read_file(path), "precious\n");
}

TEST_F(BadInput, overwriting_what_no_job_wrote) {
  std::filesystem::create_directory(out());
  std::ofstream(out() + "/thesis.tex") << "precious\n";
  const auto result =
      count_words({"--input", data + "word_count/poem.txt", "--output", out(), "--overwrite"});
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {out(), "thesis.tex"});
  EXPECT_EQ(read_file(out() + "/thesis.tex"), "precious\n");
}

TEST_F(BadInput, line_that_does_not_parse_is_counted_and_shown) {
  std::string log = read_file(data + "hourly_visitors/access.log");
  const std::string path = directory_.write("access.log", log + "what is this?\n" + log);
  const auto result = count_visitors_of(path);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_says(result.err,
              {path + ":13", "not a line of a combined log", "1 record did not parse", "--strict"});
}

TEST_F(BadInput, line_that_does_not_parse_fails_a_strict_job_with_file_and_line) {
  std::string log = read_file(data + "hourly_visitors/access.log");
  const std::string path = directory_.write("access.log", log + "what is this?\n" + log);
  const auto result = count_visitors_of(path, {"--strict", "--split-size", "200"});
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err,
              {path + ":13", "not a line of a combined log", "step 'hits'", "--strict"});
  expect_no_output();
}

TEST_F(BadInput, malformed_table_of_regions) {
  const std::string regions =
      directory_.write("regions.csv", "network,region\n10.0.0.0/8,plain\nnonsense\n");
  const auto result = run_program(
      apps + "hourly_visitors",
      {"--input", data + "hourly_visitors/access.log", "--regions", regions, "--output", out()});
  EXPECT_EQ(result.exit_code, 1);
  expect_says(result.err, {regions + ":3", "expected network,region"});
  expect_no_output();
}

// ---- Programs that are wrong: jobs run in this process ----

template <class Describe>
Error error_of(Describe describe, RunOptions options = {}) {
  Job job("bad");
  describe(job);
  const auto result = run(job, options);
  EXPECT_FALSE(result.has_value());
  return result ? Error{Errc::system, "it ran"} : result.error();
}

TEST_F(BadInput, user_code_that_throws) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 99))
        .map([](std::int64_t n) -> std::int64_t {
          return n == 17 ? throw std::runtime_error("17 is not for me") : n;
        })
        .named("picky")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'picky'", "17 is not for me"});
}

TEST_F(BadInput, user_code_that_throws_no_exception_type) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 99))
        .map([](std::int64_t n) { return n == 17 ? throw 17 : n; })
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'map'", "not a std::exception"});
}

TEST_F(BadInput, key_function_that_returns_garbage) {
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("numbers", from_sequence(0, 9999))
            .key_by([](std::int64_t) {
              static std::atomic<std::int64_t> calls{0};
              return ++calls;
            })
            .count("count")
            .collect();
      },
      {.parallelism = 2});
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message,
              {"'count'", "two different keys for the same record", "nothing but the record"});
}

TEST_F(BadInput, stream_that_was_declared_keyed_and_is_not) {
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("numbers", from_sequence(0, 9999))
            .reinterpret_as_keyed([](std::int64_t n) { return n; })
            .count("count")
            .collect();
      },
      {.parallelism = 2});
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'count'", "belong to another subtask", "reinterpret_as_keyed"});
}

TEST_F(BadInput, partitioner_that_chooses_a_subtask_that_is_not) {
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("numbers", from_sequence(0, 99))
            .partition_custom([](std::int64_t, std::uint32_t count) { return count; })
            .map([](std::int64_t n) { return n; })
            .named("after")
            .collect();
      },
      {.parallelism = 2});
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'after'", "chose none of the 2 subtasks", "from 0 to the count"});
}

TEST_F(BadInput, record_without_event_time_in_a_window) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 99))
        .key_by([](std::int64_t n) { return n; })
        .window(Tumbling::of(1s))
        .count("per second")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'per second'", "without event time", ".event_time("});
}

TEST_F(BadInput, plan_with_several_mistakes) {
  const Error error = error_of([](Job& job) {
    const auto numbers = job.source("numbers", from_sequence(0, 99));
    (void)numbers.key_by([](std::int64_t n) { return n; }).count("numbers").collect();
    (void)numbers.map([](std::int64_t n) { return n; }).named("forgotten");
    (void)numbers.forward()
        .map([](std::int64_t n) { return n; })
        .named("narrow")
        .parallelism(3)
        .collect();
  });
  EXPECT_EQ(error.code, Errc::invalid_plan);
  expect_says(error.message, {"3 mistakes", "'numbers' is used by 2 steps", "output of 'forgotten'",
                              "forward from 'numbers'", "needs equal parallelism"});
}

// The watchdog names the step while it is stuck, and the cancel that cannot reach it names it
// again.
TEST_F(BadInput, user_code_that_never_returns) {
  static std::atomic<bool> release{false};
  const std::string log = directory_.file("log");
  const auto began = std::chrono::steady_clock::now();
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("numbers", from_sequence(0, 99))
            .map([](std::int64_t n) {
              while (!release) std::this_thread::sleep_for(1ms);
              return n;
            })
            .named("sleeper")
            .collect();
      },
      {.settings = {.cancel_timeout = Duration{500}},
       .logger = Logger::to_file(log, LogLevel::warning),
       .on_progress = [&](const JobProgress&) {
         return std::chrono::steady_clock::now() - began < 2s;
       }});
  release = true;
  EXPECT_EQ(error.code, Errc::task_stuck);
  expect_says(error.message, {"'sleeper'", "did not return"});
  expect_says(read_file(log), {"'sleeper'", "holds its thread", ".blocking()"});
}

// All threads of the scheduler are held, and the job still ends.
TEST_F(BadInput, user_code_that_never_returns_in_every_task) {
  static std::atomic<bool> release{false};
  const auto began = std::chrono::steady_clock::now();
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("numbers", from_sequence(0, 99))
            .map([](std::int64_t n) {
              while (!release) std::this_thread::sleep_for(1ms);
              return n;
            })
            .named("sleeper")
            .collect();
      },
      {.parallelism = 2 * std::thread::hardware_concurrency(),
       .settings = {.cancel_timeout = Duration{300}},
       .on_progress = [&](const JobProgress&) {
         return std::chrono::steady_clock::now() - began < 300ms;
       }});
  release = true;
  EXPECT_EQ(error.code, Errc::task_stuck);
}

TEST_F(BadInput, user_code_that_throws_beside_one_that_never_returns) {
  static std::atomic<bool> release{false};
  static std::atomic<bool> asleep{false};
  const Error error = error_of(
      [](Job& job) {
        (void)job.source("sleepy", from_sequence(0, 99))
            .map([](std::int64_t n) {
              asleep = true;
              while (!release) std::this_thread::sleep_for(1ms);
              return n;
            })
            .named("sleeper")
            .blocking()
            .collect();
        (void)job.source("hasty", from_sequence(0, 99))
            .map([](std::int64_t) -> std::int64_t {
              while (!asleep) std::this_thread::sleep_for(1ms);
              throw std::runtime_error("no");
            })
            .named("thrower")
            .collect();
      },
      {.settings = {.cancel_timeout = Duration{300}}});
  release = true;
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'thrower'", "no", "'sleeper'", "did not return"});
}

struct ThrowsWhenCopied {
  std::shared_ptr<std::atomic<int>> copies = std::make_shared<std::atomic<int>>(0);
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied& other) : copies(other.copies) {
    if (armed) throw std::runtime_error("cannot be copied");
  }
  std::int64_t operator()(std::int64_t n) const { return n; }
  static inline std::atomic<bool> armed{false};
};

TEST_F(BadInput, user_function_whose_copy_throws) {
  Job job("bad");
  (void)job.source("numbers", from_sequence(0, 9))
      .map(ThrowsWhenCopied{})
      .named("fragile")
      .collect();
  auto plan = make_plan(job, {});
  ASSERT_TRUE(plan.has_value());
  ThrowsWhenCopied::armed = true;
  const auto result = run(*plan, {});
  ThrowsWhenCopied::armed = false;
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::user_code);
  expect_says(result.error().message, {"'fragile'", "cannot be copied"});
}

TEST_F(BadInput, partitioning_in_front_of_a_key) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 9))
        .broadcast()
        .key_by([](std::int64_t n) { return n; })
        .count("count")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::invalid_plan);
  expect_says(error.message, {"broadcast", "'numbers'", "leave the partitioning out"});
}

TEST_F(BadInput, impossible_window_size_and_out_of_orderness) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 9))
        .event_time([](std::int64_t n) { return EventTime{n}; }, bounded(-1s))
        .key_by([](std::int64_t n) { return n; })
        .window(Tumbling::of(0s))
        .count("count")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::invalid_plan);
  expect_says(error.message,
              {"2 mistakes", "-1000 ms", "size of a tumbling window is 0 ms", "above 0"});
}

TEST_F(BadInput, impossible_settings_of_windows) {
  const Error error = error_of([](Job& job) {
    const auto numbers = job.source("numbers", from_sequence(0, 9))
                             .event_time([](std::int64_t n) { return EventTime{n}; }, monotonous())
                             .key_by([](std::int64_t n) { return n; });
    (void)numbers.window(Sliding::of(1s, 0s)).count("a").collect();
    (void)numbers.window(Cumulative::of(10s, 3s)).count("b").collect();
    (void)numbers.window(Tumbling::of(1s, 1s)).count("c").collect();
    (void)numbers.window(Session::with_gap(0s)).count("d").collect();
    (void)numbers.window(Tumbling::of(1s)).allowed_lateness(-1ms).count("e").collect();
    (void)numbers.window(Tumbling::of(1s).in_processing_time())
        .allowed_lateness(1s)
        .count("f")
        .collect();
    (void)numbers.count_window(0).count("g").collect();
    (void)numbers.window(Tumbling::of(1s)).evictor(CountEvictor{-1}).count("h").collect();
  });
  EXPECT_EQ(error.code, Errc::invalid_plan);
  expect_says(error.message,
              {"8 mistakes", "slide of a sliding window is 0 ms", "multiple of its step, 3000 ms",
               "offset of a tumbling window is 1000 ms", "gap of a session window is 0 ms",
               "allowed_lateness(…) is -1 ms", "no record is late", "count trigger is 0",
               "count evictor is -1"});
}

TEST_F(BadInput, gap_function_that_returns_a_negative_gap) {
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 9))
        .event_time([](std::int64_t n) { return EventTime{n}; }, monotonous())
        .key_by([](std::int64_t n) { return n; })
        .window(Session::with_gap_of([](std::int64_t) { return -5ms; }))
        .count("visits")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message,
              {"session window of 'visits'", "-5 ms long", "gap function must return more than 0"});
}

TEST_F(BadInput, assigner_whose_window_ends_before_it_starts) {
  struct Odd {
    [[nodiscard]] std::vector<Window> windows_of(std::int64_t, EventTime time) const {
      return {{time, time - 1ms}};
    }
  };
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 9))
        .event_time([](std::int64_t n) { return EventTime{n}; }, monotonous())
        .key_by([](std::int64_t n) { return n; })
        .window(Odd{})
        .count("odd")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"a window of 'odd'", "-1 ms long", "must end after it starts"});
}

TEST_F(BadInput, trigger_that_throws) {
  struct Moody {
    TriggerResult on_element(std::int64_t, EventTime, TriggerContext&) const {
      throw std::runtime_error("not in the mood");
    }
  };
  const Error error = error_of([](Job& job) {
    (void)job.source("numbers", from_sequence(0, 9))
        .key_by([](std::int64_t n) { return n; })
        .window(Global{})
        .trigger(Moody{})
        .count("moody")
        .collect();
  });
  EXPECT_EQ(error.code, Errc::user_code);
  expect_says(error.message, {"'moody'", "threw an exception", "not in the mood"});
}

TEST_F(BadInput, more_channels_than_a_machine_can_hold) {
  const auto result = count_words(
      {"--input", data + "word_count/poem.txt", "--output", out(), "--parallelism", "5000"});
  EXPECT_EQ(result.exit_code, 2);
  expect_says(result.err, {"25000000 channels", "lower the parallelism"});
}

}  // namespace
}  // namespace weir
