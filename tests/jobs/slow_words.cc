// Words of text files, dealt out to sinks that take 1,000 records a second each. Each has a file, to which it appends a
// byte for each record that it has taken.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "actors/launch.h"
#include "apps/words.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

class SlowSink {
 public:
  explicit SlowSink(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] std::string describe() const { return "slow"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<Writer>(directory_);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }

 private:
  class Writer final : public SinkOperator {
   public:
    explicit Writer(std::string directory) : directory_(std::move(directory)) {}
    [[nodiscard]] Result<void> open(const OperatorContext& context) override {
      taken_.open(directory_ + "/taken-" + std::to_string(context.subtask.value));
      return {};
    }
    [[nodiscard]] Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
      std::this_thread::sleep_for((rows.end - rows.begin) * 1ms);
      taken_ << std::string(rows.end - rows.begin, '.') << std::flush;
      return Progress{StepResult::done, rows.end};
    }

   private:
    std::string directory_;
    std::ofstream taken_;
  };

  std::string directory_;
};

void describe(Job& job) {
  const auto input = job.option<std::string>("input", "files with words");
  const auto directory =
      job.option<std::string>("directory", "where the sinks tell what they have taken");
  job.source("lines", text_files(input))
      .flat_map(words)
      .rebalance()
      .to("slow", SlowSink(directory))
      .blocking();
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, describe);
}
