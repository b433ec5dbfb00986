#include "state/state_backend.h"

#include <algorithm>
#include <iterator>

namespace weir {
namespace {

std::string_view name_of(StateKind kind) {
  switch (kind) {
    case StateKind::value:
      return "a value per key";
    case StateKind::list:
      return "a list per key";
    case StateKind::map:
      return "a map per key";
    case StateKind::reducing:
      return "a reduced value per key";
    case StateKind::aggregating:
      return "an aggregate per key";
    case StateKind::windows:
      return "windows";
    case StateKind::event_timers:
      return "timers of event time";
    case StateKind::processing_timers:
      return "timers of processing time";
    case StateKind::split_list:
      return "a list that is split";
    case StateKind::union_list:
      return "a list that all instances get";
    case StateKind::broadcast:
      return "a broadcast map";
  }
  return "something unknown";
}

// What to do if a state does not fit. That of windows is named and made by the engine.
constexpr std::string_view what_keeps_others = "keep its type, or give the new state another name";
constexpr std::string_view what_keeps_windows =
    "how they are kept follows from the windows, allowed_lateness, the trigger, the evictor and "
    "the "
    "aggregate or function (also from whether that can merge): leave those as they were, or give "
    "the "
    "step another name";

std::string text_of(const StateDescriptor& descriptor) {
  return std::string(name_of(descriptor.kind)) + " of " + descriptor.schema;
}

}  // namespace

StateBackend::StateBackend(KeyGroupSlice slice, RestoredState restored, std::string operator_name)
    : slice_(slice), restored_(std::move(restored)), operator_name_(std::move(operator_name)) {}

StateBackend::~StateBackend() = default;

FrozenState StateBackend::freeze() {
  FrozenState frozen;
  for (const Freeze& freeze : states_) freeze(frozen);
  return frozen;
}

std::vector<std::string> StateBackend::unclaimed() const {
  std::set<std::string> names;
  for (const auto& state : restored_.keyed) names.insert(state.descriptor.name);
  for (const auto& state : restored_.items) names.insert(state.descriptor.name);
  return {names.begin(), names.end()};
}

Result<void> StateBackend::check_all_claimed() const {
  const auto names = unclaimed();
  if (names.empty()) return {};
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  const bool of_windows = std::ranges::any_of(restored_.keyed, [](const RestoredKeyedState& state) {
    return state.descriptor.kind == StateKind::windows;
  });
  if (of_windows) {
    return Error{Errc::state_mismatch, "what is restored of '" + operator_name_ +
                                           "' is of windows that were kept in another way (" +
                                           list + "): " + std::string(what_keeps_windows)};
  }
  return Error{Errc::state_mismatch, "what is restored has state that '" + operator_name_ +
                                         "' no longer declares: " + list +
                                         ": declare it again, under the same name"};
}

Result<StateBackend::Groups> StateBackend::claim_groups(const StateDescriptor& descriptor) {
  WEIR_TRY(take_name(descriptor));
  Groups groups;
  for (auto state = restored_.keyed.begin(); state != restored_.keyed.end();) {
    if (state->descriptor.name != descriptor.name) {
      ++state;
      continue;
    }
    WEIR_TRY(check_fits(state->descriptor, descriptor));
    std::ranges::move(state->groups, std::back_inserter(groups));
    state = restored_.keyed.erase(state);
  }
  for (const auto& state : restored_.items) {
    if (state.descriptor.name == descriptor.name)
      WEIR_TRY(check_fits(state.descriptor, descriptor));
  }
  return groups;
}

Result<std::vector<OperatorStateItems>> StateBackend::claim_items(
    const StateDescriptor& descriptor) {
  WEIR_TRY(take_name(descriptor));
  std::vector<OperatorStateItems> parts;
  for (auto state = restored_.items.begin(); state != restored_.items.end();) {
    if (state->descriptor.name != descriptor.name) {
      ++state;
      continue;
    }
    WEIR_TRY(check_fits(state->descriptor, descriptor));
    parts.push_back(std::move(*state));
    state = restored_.items.erase(state);
  }
  for (const auto& state : restored_.keyed) {
    if (state.descriptor.name == descriptor.name)
      WEIR_TRY(check_fits(state.descriptor, descriptor));
  }
  return parts;
}

Result<void> StateBackend::take_name(const StateDescriptor& descriptor) {
  if (names_.insert(descriptor.name).second) return {};
  return Error{Errc::user_code, title(descriptor.name) +
                                    " is registered twice: a name is a state's identity, give "
                                    "each its own"};
}

Result<void> StateBackend::check_fits(const StateDescriptor& was, const StateDescriptor& is) const {
  if (was == is) return {};
  const bool of_windows = was.kind == StateKind::windows && is.kind == StateKind::windows;
  return Error{Errc::state_mismatch,
               title(is.name) + " is " + text_of(is) + ", but what is restored is " + text_of(was) +
                   ": " + std::string(of_windows ? what_keeps_windows : what_keeps_others)};
}

Error StateBackend::damaged(const StateDescriptor& descriptor, const Error& error) const {
  return {Errc::corrupt_data, title(descriptor.name) + " cannot be restored: " + error.message};
}

Error StateBackend::no_such_timer(const std::string& timer) const {
  return {Errc::state_mismatch, "what is restored has timers of '" + timer + "', which '" +
                                    operator_name_ +
                                    "' no longer declares: declare it again, under the same name"};
}

std::string StateBackend::title(const std::string& state) const {
  return "the state '" + state + "' of '" + operator_name_ + "'";
}

}  // namespace weir
