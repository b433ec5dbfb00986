// Windows of activity: they end when a key has been silent for a gap.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/window/window_assigner.h"

namespace weir {

// A record begins a window of its own, as long as the gap; windows of a key that overlap or touch become one.
class Session : public InEitherTime<Session> {
 public:
  static constexpr bool merging = true;

  // A gap that is not above 0 is a mistake of the plan.
  [[nodiscard]] static constexpr Session with_gap(Duration gap) { return Session(gap); }
  // gap_of(const T&) → Duration: a gap for each record. One that is not above 0 fails the task.
  template <class GapOf>
  [[nodiscard]] static auto with_gap_of(GapOf gap_of);

  [[nodiscard]] constexpr Duration gap() const { return gap_; }

  template <class T>
  void assign(const T& /*value*/, EventTime time, std::vector<Window>& windows) const {
    windows.push_back({time, time + gap_});
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    return window_detail::length_mistake("the gap of a " + name(), gap_);
  }
  [[nodiscard]] std::string name() const { return "session window"; }

 private:
  explicit constexpr Session(Duration gap) : gap_(gap) {}

  Duration gap_;
};

// A Session whose gap depends on the record.
template <class GapOf>
class DynamicSession : public InEitherTime<DynamicSession<GapOf>> {
 public:
  static constexpr bool merging = true;

  explicit DynamicSession(GapOf gap_of) : gap_of_(std::move(gap_of)) {}

  template <class T>
  void assign(const T& value, EventTime time, std::vector<Window>& windows) const {
    windows.push_back({time, time + Duration{std::invoke(gap_of_, value)}});
  }
  [[nodiscard]] std::optional<std::string> mistake() const { return {}; }
  [[nodiscard]] std::string name() const { return "session window"; }

 private:
  GapOf gap_of_;
};

template <class GapOf>
auto Session::with_gap_of(GapOf gap_of) {
  return DynamicSession<GapOf>(std::move(gap_of));
}

}  // namespace weir
