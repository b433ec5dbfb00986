// The jobs of golden_time.h as a program.
#include "tests/jobs/golden_time.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "actors/launch.h"
#include "tests/jobs/generated_source.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

// Answers from a thread of its own, two at a time and the later one first.
class Service {
 public:
  Service() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void ask(std::uint64_t question, AsyncResult<Answer> result) {
    {
      const std::lock_guard lock(mutex_);
      questions_.emplace_back(question, std::move(result));
    }
    asked_.notify_one();
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::deque<std::pair<std::uint64_t, AsyncResult<Answer>>> questions;
      {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [this] { return !questions_.empty(); })) return;
        questions.swap(questions_);
      }
      std::this_thread::sleep_for(1ms);
      for (; !questions.empty(); questions.pop_back()) {
        const auto& [question, result] = questions.back();
        result.complete({question, question * question});
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<std::pair<std::uint64_t, AsyncResult<Answer>>> questions_;
  std::jthread thread_;
};

struct Ask {
  std::shared_ptr<Service> service = {};

  void open(const FunctionContext& /*context*/) { service = std::make_shared<Service>(); }
  void operator()(std::uint64_t number, AsyncResult<Answer> result) {
    service->ask(number, std::move(result));
  }
  void close() { service.reset(); }
};

void describe(Job& job) {
  const auto which = job.option<std::string>(
      "job", "sessions, sliding, windows, intervals, temporal, async or loop");
  describe_golden_time(
      which, GeneratedSource(job),
      [&job](const auto& rows) { rows.to("out", csv_files(job.output())); }, Ask{});
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, describe);
}
