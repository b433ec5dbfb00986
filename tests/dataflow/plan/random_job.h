// Jobs made up from a seed, which pass whole numbers through in all the ways there are.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/api/weir.h"

namespace weir {

class RandomJob {
 public:
  // How many records will come out of a sink.
  struct Sink {
    std::shared_ptr<CollectedRows<int>> rows;
    std::uint64_t expected_count;
  };

  explicit RandomJob(std::uint64_t seed) : random_(seed), parallelism_(subtasks()) {
    for (std::uint64_t i = 0; i <= random_.below(2); ++i) add_source();
    for (std::uint64_t steps = random_.below(12); steps > 0; --steps) add_step();
    for (const Branch& branch : branches_) {
      if (!branch.consumed) sinks_.push_back({branch.stream.collect(), branch.count});
    }
  }

  [[nodiscard]] LogicalPlan& plan() { return job_.plan(); }
  // Of steps that name none.
  [[nodiscard]] std::uint32_t parallelism() const { return parallelism_; }
  [[nodiscard]] const std::vector<Sink>& sinks() const { return sinks_; }

 private:
  struct Branch {
    Stream<int> stream;
    std::uint64_t count;  // of its records
    std::uint32_t parallelism;
    bool consumed = false;
  };

  std::uint32_t subtasks() { return static_cast<std::uint32_t>(1 + random_.below(5)); }

  void add_source() {
    std::vector<int> rows(random_.below(3000));
    std::iota(rows.begin(), rows.end(), 0);
    const std::uint64_t count = rows.size();
    auto stream = job_.source("source " + std::to_string(++names_), collection(std::move(rows)));
    branches_.push_back({std::move(stream), count, parallelism_});
  }

  void add_step() {
    Branch& from = pick();
    Branch to = next_of(from);
    branches_.push_back(std::move(to));
  }

  Branch& pick() {
    Branch& branch = branches_[random_.below(branches_.size())];
    branch.consumed = true;
    return branch;
  }

  Branch next_of(const Branch& from) {
    const auto same = [](int x) { return x; };
    const std::uint32_t width = subtasks();
    const auto mapped = [&](const Stream<int>& stream) {
      return Branch{stream.map(same).parallelism(width), from.count, width};
    };
    switch (random_.below(11)) {
      case 0:
        return mapped(from.stream.rebalance());
      case 1:
        return mapped(from.stream.rescale());
      case 2:
        return mapped(from.stream.shuffle());
      case 3:
        return mapped(from.stream.global());
      case 4:
        return mapped(from.stream.partition_custom(
            [](int x, std::uint32_t count) { return static_cast<std::uint32_t>(x) % count; }));
      case 5: {
        Branch copies = mapped(from.stream.broadcast());
        copies.count *= width;
        return copies;
      }
      case 6: {
        const Branch& other = pick();
        return {from.stream.union_with(other.stream).map(same).parallelism(width),
                from.count + other.count, width};
      }
      case 7:
        return mapped(from.stream);
      case 8:
        return {from.stream.filter([](int) { return true; }).parallelism(from.parallelism),
                from.count, from.parallelism};
      case 9:
        return {from.stream.forward().map(same).parallelism(from.parallelism).no_chain(),
                from.count, from.parallelism};
      default:
        auto keyed = from.stream.key_by([](int x) { return x % 100; });
        return {keyed.reduce("last " + std::to_string(++names_), [](int, int x) { return x; })
                    .parallelism(width),
                from.count, width};
    }
  }

  Random random_;
  Job job_{"random"};
  std::uint32_t parallelism_;
  int names_ = 0;
  std::vector<Branch> branches_;
  std::vector<Sink> sinks_;
};

}  // namespace weir
