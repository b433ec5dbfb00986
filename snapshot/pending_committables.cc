#include "snapshot/pending_committables.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {

void PendingCommittables::add(CheckpointId id, const std::string& operator_name,
                              std::vector<Bytes> committables) {
  WEIR_CHECK(prepared_.empty() || prepared_.back().id <= id);
  if (committables.empty()) return;
  prepared_.push_back(
      {id, {.operator_name = operator_name, .committables = std::move(committables)}});
}

void PendingCommittables::on_complete(CheckpointId id) {
  while (!prepared_.empty() && prepared_.front().id <= id) prepared_.pop_front();
}

std::vector<OperatorCommittables> PendingCommittables::all() const {
  std::vector<OperatorCommittables> all;
  for (const Prepared& prepared : prepared_) {
    const auto& [name, committables] = prepared.committables;
    auto at = std::ranges::find(all, name, &OperatorCommittables::operator_name);
    if (at == all.end()) at = all.insert(all.end(), {.operator_name = name});
    at->committables.insert(at->committables.end(), committables.begin(), committables.end());
  }
  return all;
}

}  // namespace weir
