// What a windowed step must do, said as plainly as can be: no alarms, no order kept, no time saved. Arithmetic is wide, so that it is right
// at the ends of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/dataflow/window_model/window_plan.h"

namespace weir {

class WindowModel {
 public:
  explicit WindowModel(WindowPlan plan) : plan_(plan) {}

  void push(const Item& item, std::int64_t time) {
    const std::int64_t at = plan_.domain == TimeDomain::event ? time : now_;
    bool entered = false;
    for (const Window& window : windows_of(item, at)) {
      Open* open = plan_.merges() ? merged(item.key, window) : found(item.key, window);
      if (open == nullptr) continue;
      entered = true;
      open->elements.push_back({item, time});
      answer(item.key, *open, on_element(*open, item, at));
    }
    const bool is_late =
        plan_.domain == TimeDomain::event && Wide{at} + plan_.lateness <= Wide{watermark_};
    if (!entered && is_late) out_.push_back("LATE " + item.key + " " + std::to_string(item.value));
  }

  void watermark(std::int64_t time) {
    watermark_ = time;
    for (auto& [key, windows] : keys_) {
      for (Open& open : windows) {
        while (const auto next = first(open.event, open.event_end, open)) {
          if (*next > time || *next > over_at(open)) break;
          open.event.erase(*next);
          if (*next == last_of(open)) open.event_end = false;
          answer(key, open, on_event_time(open, *next));
        }
      }
      std::erase_if(windows, [&](const Open& open) {
        return plan_.domain == TimeDomain::event && over_at(open) <= time;
      });
    }
  }

  void processing_time(std::int64_t time) {
    now_ = time;
    for (auto& [key, windows] : keys_) {
      for (Open& open : windows) {
        while (const auto next = first(open.processing, open.processing_end, open)) {
          if (*next > time) break;
          if (plan_.domain == TimeDomain::processing && *next > over_at(open)) break;
          open.processing.erase(*next);
          if (*next == last_of(open)) open.processing_end = false;
          answer(key, open, on_processing_time(open, *next));
        }
      }
      std::erase_if(windows, [&](const Open& open) {
        return plan_.domain == TimeDomain::processing && over_at(open) <= time;
      });
    }
  }

  [[nodiscard]] std::vector<std::string> take() {
    std::ranges::sort(out_);
    return std::exchange(out_, {});
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr std::int64_t least = EventTime::min().ms, most = EventTime::max().ms;

  struct Open {
    Window window;
    std::vector<Record<Item>> elements;
    std::set<std::int64_t> event;
    std::set<std::int64_t> processing;
    bool event_end = false;
    bool processing_end = false;
    std::int64_t count = 0;
    std::optional<std::int64_t> next{};      // of a continuous trigger
    std::optional<std::int64_t> deadline{};  // of a timeout
    std::optional<Item> last{};              // of a delta trigger
  };

  static std::int64_t clamped(Wide time) {
    return static_cast<std::int64_t>(std::clamp(time, Wide{least}, Wide{most}));
  }
  static Wide floor_div(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
  static std::int64_t last_of(const Open& open) {
    return open.window.end.ms == most ? most : open.window.end.ms - 1;
  }
  bool is_global() const { return plan_.assigner == AssignerKind::global; }
  // Beyond all time for global windows.
  Wide over_at(const Open& open) const {
    if (is_global()) return Wide{most} + 1;
    return clamped(Wide{last_of(open)} + plan_.lateness);
  }
  bool is_over(const Open& open) const {
    return plan_.domain == TimeDomain::event && over_at(open) <= watermark_;
  }

  std::vector<Window> windows_of(const Item& item, std::int64_t time) const {
    const auto between = [](Wide start, Wide end) {
      return Window{EventTime{clamped(start)}, EventTime{clamped(end)}};
    };
    const auto first_at = [&](std::int64_t every) {
      return floor_div(Wide{time} - plan_.offset, every) * every + plan_.offset;
    };
    std::vector<Window> windows;
    switch (plan_.assigner) {
      case AssignerKind::tumbling:
        windows.push_back(between(first_at(plan_.size), first_at(plan_.size) + plan_.size));
        break;
      case AssignerKind::sliding:
        for (Wide start = first_at(plan_.slide); start + plan_.size > time; start -= plan_.slide) {
          if (start >= least) windows.push_back(between(start, start + plan_.size));
        }
        break;
      case AssignerKind::cumulative:
        for (Wide length = plan_.slide; length <= plan_.size; length += plan_.slide) {
          const Window window = between(first_at(plan_.size), first_at(plan_.size) + length);
          const bool holds = first_at(plan_.size) + length > time;
          if (holds && (windows.empty() || windows.back() != window)) windows.push_back(window);
        }
        break;
      case AssignerKind::session:
      case AssignerKind::dynamic:
        windows.push_back(between(time, Wide{time} + plan_.gap_of(item)));
        break;
      case AssignerKind::global:
        windows.push_back({EventTime::min(), EventTime::max()});
        break;
    }
    return windows;
  }

  Open* found(const std::string& key, const Window& window) {
    for (Open& open : keys_[key]) {
      if (open.window == window) return &open;
    }
    if (is_over(Open{window, {}, {}, {}})) return nullptr;
    return &keys_[key].emplace_back(Open{window, {}, {}, {}});
  }

  Open* merged(const std::string& key, Window window) {
    std::vector<Open>& windows = keys_[key];
    std::vector<Open> touching;
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window& other = windows[i].window;
        if (other.start > window.end || other.end < window.start) continue;
        window = {std::min(window.start, other.start), std::max(window.end, other.end)};
        touching.push_back(std::move(windows[i]));
        windows.erase(windows.begin() + static_cast<std::ptrdiff_t>(i));
        grown = true;
        break;
      }
    }
    std::ranges::sort(touching, {}, [](const Open& open) { return open.window.start; });
    Open all{window, {}, {}, {}};
    for (Open& open : touching) {
      all.elements.insert(all.elements.end(), open.elements.begin(), open.elements.end());
      all.event.merge(open.event);
      all.processing.merge(open.processing);
      all.event_end |= open.event_end;
      all.processing_end |= open.processing_end;
      all.count += open.count;
      if (open.next) all.next = all.next ? std::min(*all.next, *open.next) : *open.next;
      if (open.deadline)
        all.deadline = all.deadline ? std::min(*all.deadline, *open.deadline) : *open.deadline;
    }
    if (is_over(all)) return nullptr;  // nothing that was open can have been in it
    return &windows.emplace_back(std::move(all));
  }

  static std::optional<std::int64_t> first(const std::set<std::int64_t>& timers, bool end,
                                           const Open& open) {
    std::optional<std::int64_t> next;
    if (!timers.empty()) next = *timers.begin();
    if (end && (!next || last_of(open) < *next)) next = last_of(open);
    return next;
  }

  // --- triggers: whether they fire ---

  bool at_event_end(Open& open) {
    if (last_of(open) <= watermark_) return true;
    open.event_end = true;
    return false;
  }
  bool counted(Open& open) const {
    if (++open.count < plan_.count) return false;
    open.count = 0;
    return true;
  }
  bool timed_out(Open& open, bool nested_fires) const {
    if (nested_fires) {
      clear_deadline(open);
    } else if (!open.deadline || plan_.timeout.reset_on_new_record) {
      clear_deadline(open);
      open.deadline = now_ + plan_.interval;
      open.processing.insert(*open.deadline);
    }
    return nested_fires;
  }
  static void clear_deadline(Open& open) {
    if (open.deadline) open.processing.erase(*open.deadline);
    open.deadline.reset();
  }
  std::int64_t next_multiple(std::int64_t time) const {
    return clamped(floor_div(time, plan_.interval) * plan_.interval + plan_.interval);
  }

  bool on_element(Open& open, const Item& item, std::int64_t time) {
    switch (plan_.trigger) {
      case TriggerKind::at_end:
        if (plan_.domain == TimeDomain::event) return at_event_end(open);
        open.processing_end = true;
        return false;
      case TriggerKind::event_time:
        return at_event_end(open);
      case TriggerKind::processing_time:
        open.processing_end = true;
        return false;
      case TriggerKind::count:
        return counted(open);
      case TriggerKind::continuous_event:
        if (at_event_end(open)) return true;
        if (!open.next) open.next = next_multiple(std::max(time, watermark_));
        if (*open.next < last_of(open)) open.event.insert(*open.next);
        return false;
      case TriggerKind::continuous_processing:
        if (plan_.domain == TimeDomain::processing) open.processing_end = true;
        if (!open.next) open.next = next_multiple(now_);
        if (plan_.domain == TimeDomain::event || *open.next < last_of(open))
          open.processing.insert(*open.next);
        return false;
      case TriggerKind::timeout_of_count:
        return timed_out(open, counted(open));
      case TriggerKind::timeout_of_event_time:
        return timed_out(open, at_event_end(open));
      case TriggerKind::end_of_input:
        if (last_of(open) == most) open.event_end = true;
        return false;
      case TriggerKind::never:
        return false;
      case TriggerKind::delta: {
        const bool fires =
            open.last && value_delta(*open.last, item) > static_cast<double>(plan_.interval);
        if (fires || !open.last) open.last = item;
        return fires;
      }
    }
    return false;
  }

  bool on_event_time(Open& open, std::int64_t time) {
    switch (plan_.trigger) {
      case TriggerKind::continuous_event:
        if (time == last_of(open)) return true;
        if (open.next != time) return false;
        open.next = next_multiple(std::max(time, watermark_));
        if (*open.next < last_of(open)) open.event.insert(*open.next);
        return true;
      case TriggerKind::timeout_of_event_time:
        clear_deadline(open);
        return true;
      case TriggerKind::end_of_input:
        purges_anyway_ = true;
        return true;
      default:
        return true;
    }
  }

  bool on_processing_time(Open& open, std::int64_t time) {
    switch (plan_.trigger) {
      case TriggerKind::continuous_processing:
        if (plan_.domain == TimeDomain::processing && time == last_of(open)) return true;
        if (open.next != time) return false;
        open.next = clamped(Wide{time} + plan_.interval);
        if (plan_.domain == TimeDomain::event || *open.next < last_of(open))
          open.processing.insert(*open.next);
        return true;
      case TriggerKind::timeout_of_count:
      case TriggerKind::timeout_of_event_time:
        if (open.deadline != time) return false;
        open.deadline.reset();
        if (plan_.timeout.clear_on_timeout) open.count = 0;
        return true;
      default:
        return true;
    }
  }

  // --- firing ---

  void answer(const std::string& key, Open& open, bool fires) {
    const bool purges = fires && (plan_.purging || purges_anyway_);
    purges_anyway_ = false;
    if (fires && !open.elements.empty()) {
      if (plan_.eviction == Eviction::before) evict(open.elements);
      put_out(key, open);
      if (plan_.eviction == Eviction::after) evict(open.elements);
    }
    if (purges) open.elements.clear();
  }

  void put_out(const std::string& key, const Open& open) {
    std::string text = key + " [" + std::to_string(open.window.start.ms) + "," +
                       std::to_string(open.window.end.ms) + ")";
    std::int64_t sum = 0;
    for (const auto& [item, time] : open.elements) {
      if (plan_.all_elements) text += " " + std::to_string(item.value);
      sum += item.value;
    }
    if (!plan_.all_elements) text += " sum " + std::to_string(sum);
    out_.push_back(text);
  }

  void evict(std::vector<Record<Item>>& elements) const {
    if (plan_.evictor == EvictorKind::count) {
      while (static_cast<std::int64_t>(elements.size()) > plan_.evictor_keeps)
        elements.erase(elements.begin());
    }
    if (plan_.evictor == EvictorKind::time && !elements.empty()) {
      Wide newest = least;
      for (const auto& element : elements) newest = std::max(newest, Wide{element.time.ms});
      std::erase_if(elements, [&](const Record<Item>& element) {
        return element.time.ms <= clamped(newest - plan_.evictor_keeps);
      });
    }
  }

  WindowPlan plan_;
  std::map<std::string, std::vector<Open>> keys_;
  std::int64_t watermark_ = least;
  std::int64_t now_ = 0;
  bool purges_anyway_ = false;
  std::vector<std::string> out_;
};

}  // namespace weir
