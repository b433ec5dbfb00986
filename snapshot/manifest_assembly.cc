#include "snapshot/manifest_assembly.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

Error misfit(const std::string& operator_name, const std::string& what) {
  return {Errc::corrupt_data,
          "a task's snapshot does not fit the plan: '" + operator_name + "' " + what};
}

class Assembly {
 public:
  Assembly(const SnapshotPlan& plan, checkpoint::Store content)
      : plan_(plan), content_(std::move(content)) {
    manifest_.id = content_.id;
    manifest_.job = plan.job;
    manifest_.job_name = plan.job_name;
    manifest_.triggered = content_.triggered;
  }

  void add_operators() {
    for (const SnapshotOperator& op : plan_.operators) {
      OperatorInManifest& to =
          manifest_.operators.emplace_back(OperatorInManifest{.name = op.name,
                                                              .parallelism = op.parallelism,
                                                              .max_parallelism = op.max_parallelism,
                                                              .subtasks = {},
                                                              .coordinator = {},
                                                              .committables = {}});
      to.subtasks.resize(op.parallelism);
      for (std::uint32_t i = 0; i < op.parallelism; ++i) {
        to.subtasks[i].finished = content_.finished.contains({op.vertex, {i}});
      }
      const auto snapshot = content_.coordinators.find(op.node);
      if (snapshot != content_.coordinators.end()) to.coordinator = std::move(snapshot->second);
    }
  }

  Result<void> add_tasks() {
    for (auto& [id, task] : content_.tasks) {
      const auto file = static_cast<std::uint32_t>(manifest_.files.size());
      if (task.file.size > 0) manifest_.files.push_back(std::move(task.file));
      for (OperatorSnapshot& op : task.operators) WEIR_TRY(add(std::move(op), file));
      for (OperatorCommittables& of : task.committables) {
        WEIR_TRY(add(of.operator_name, std::move(of.committables)));
      }
    }
    return {};
  }

  Result<void> add(const std::string& operator_name, std::vector<Bytes> committables) {
    OperatorInManifest* op = find(operator_name);
    if (op == nullptr) return misfit(operator_name, "is not in the plan");
    std::ranges::move(committables, std::back_inserter(op->committables));
    return {};
  }

  CheckpointManifest take() { return std::move(manifest_); }

 private:
  Result<void> add(OperatorSnapshot snapshot, std::uint32_t file) {
    OperatorInManifest* op = find(snapshot.operator_name);
    if (op == nullptr) return misfit(snapshot.operator_name, "is not in the plan");
    if (snapshot.subtask.value >= op->parallelism || snapshot.parallelism != op->parallelism ||
        snapshot.max_parallelism != op->max_parallelism) {
      return misfit(snapshot.operator_name, "has another parallelism");
    }
    SubtaskInManifest& to = op->subtasks[snapshot.subtask.value];
    to.keyed = std::move(snapshot.keyed);
    to.items = std::move(snapshot.items);
    // States without a byte need a file to be in nonetheless.
    const bool has_state = !to.keyed.empty() || !to.items.empty();
    if (has_state && file >= manifest_.files.size()) manifest_.files.push_back({});
    to.file = has_state ? file : 0;
    return {};
  }

  OperatorInManifest* find(const std::string& operator_name) {
    const auto at =
        std::ranges::find(manifest_.operators, operator_name, &OperatorInManifest::name);
    return at == manifest_.operators.end() ? nullptr : &*at;
  }

  const SnapshotPlan& plan_;
  checkpoint::Store content_;
  CheckpointManifest manifest_;
};

}  // namespace

Result<CheckpointManifest> assemble_manifest(
    const SnapshotPlan& plan, checkpoint::Store content,
    const std::map<std::string, std::vector<Bytes>>& kept_committables) {
  Assembly assembly(plan, std::move(content));
  assembly.add_operators();
  WEIR_TRY(assembly.add_tasks());
  for (const auto& [name, committables] : kept_committables) {
    WEIR_TRY(assembly.add(name, committables));
  }
  return assembly.take();
}

}  // namespace weir
