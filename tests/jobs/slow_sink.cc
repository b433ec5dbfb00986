// Texts into a sink that takes its time over each.
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "actors/launch.h"

using namespace weir;

class SlowWriter final : public SinkOperator {
 public:
  explicit SlowWriter(std::uint32_t microseconds) : microseconds_(microseconds) {}
  Result<Progress> process(InputPort /*port*/, BatchPtr& /*in*/, RowRange rows,
                           Outputs& /*out*/) override {
    for (std::size_t row = rows.begin; row < rows.end; ++row) usleep(microseconds_);
    return Progress{StepResult::done, rows.end};
  }

 private:
  std::uint32_t microseconds_;
};

struct Slow {
  std::uint32_t microseconds;
  [[nodiscard]] std::string describe() const { return "slow"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<SlowWriter>(microseconds);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};

static void slow_sink(Job& job) {
  const auto count = job.option<std::uint64_t>("count", "texts");
  const auto bytes = job.option<std::uint32_t>("bytes", "of each", 1'024);
  const auto microseconds = job.option<std::uint32_t>("sleep-us", "of the sink, over each", 1'000);
  job.source("texts", generator([bytes](std::uint64_t) { return std::string(bytes, 'x'); },
                                {.count = count}))
      .rebalance()
      .to("slow", Slow{microseconds})
      .parallelism(1);
}

int main(int argc, char** argv) {
  return launch(argc, argv, slow_sink);
}
