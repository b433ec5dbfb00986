// Windows of any assigner, with any trigger, lateness and function.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataflow/operators/alarm_queue.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/late_records.h"
#include "dataflow/operators/open_windows.h"
#include "dataflow/operators/window_contents.h"
#include "dataflow/operators/window_firing.h"
#include "dataflow/output.h"
#include "dataflow/window/trigger.h"
#include "dataflow/window/window_assigner.h"
#include "state/keyed_table.h"

namespace weir {

struct WindowSettings {
  Duration allowed_lateness{0};
  std::optional<OutputPort> late;  // where late records go; else they are counted and dropped
};

// Keeps, per key, a short vector of its open windows, each with its contents (window_contents.h), what its trigger remembers and
// what its function does (window_firing.h). A window is over when max_time() + lateness has been reached: then all of it goes.
//
// A key is looked at again when its alarm comes: at the earliest time at which one of its windows has a timer or is over. The
// alarm is not moved when windows grow or go; it then comes early, does nothing and is set again. So a session costs an alarm
// per gap, not one per record. Alarms are derived from the state and queued anew when it is restored.
//
//   1. A key is in the table if and only if it has open windows.
//   2. Windows of a key are in the order of (start, end); those that merge neither overlap nor touch.
//   3. A key's alarm in a domain is not after the first time at which one of its windows needs to be looked at in it.
//
// A firing may stop midway, see window_firing.h. It goes on before anything else is done, in whatever call comes next: so its window and what
// that holds are as they were. No barrier comes before it, since it has a timer that is always due.
template <class T, class Selector, class Assigner, class Trigger, class Contents, class Firing>
class WindowOperator final : public Operator {
 public:
  using K = KeyOf<Selector, T>;

  WindowOperator(Selector selector, Assigner assigner, Trigger trigger, Contents contents,
                 Firing firing, WindowSettings settings)
      : selector_(std::move(selector)),
        assigner_(std::move(assigner)),
        trigger_(std::move(trigger)),
        contents_(std::move(contents)),
        firing_(std::move(firing)),
        settings_(settings),
        domain_(assigner_.domain()) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    watermark_ = context.watermark;
    // A name with a space, which no member of the window's function can have.
    auto table = context.state->keyed<K, Open>("open windows", StateKind::windows);
    if (!table) return table.error();
    table_ = *std::move(table);
    TableCursor cursor;
    table_->walk(cursor, [this](const K& key, const Open& open) {
      if (open.event_alarm.is_set())
        event_alarms_.queue.push({open.event_alarm.at_ms(), hash_of(key), key});
      if (open.processing_alarm.is_set())
        processing_alarms_.queue.push({open.processing_alarm.at_ms(), hash_of(key), key});
      return true;
    });
    return firing_.open(context);
  }
  void close() override { firing_.close(); }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (const StepResult result = go_on(out); result != StepResult::done)
      return Progress{result, rows.begin};
    const auto& input = batch_cast<T>(*in);
    if (needs_event_time() && input.times.empty())
      return missing_time(context_->operator_name, "before the window");
    WEIR_TRY(check_keys(input, rows, selector_, context_->keys, context_->operator_name));
    if (domain_ == TimeDomain::processing) now_ = context_->clock->processing_time();
    TouchAhead ahead;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (out.any_full()) return Progress{StepResult::output_full, row};
      ahead.row(*table_, input.hashes, row, rows.end, touch_no_more);
      const EventTime time = input.times.empty() ? no_timestamp : input.times[row];
      if (needs_event_time() && time == no_timestamp) [[unlikely]]
        return missing_time(context_->operator_name, "before the window");
      const Taken taken = take(input.values[row], input.hashes[row], time, out);
      if (taken == Taken::stopped) [[unlikely]]
        return Progress{stopped_by(out), row};
      if (taken == Taken::bad_window) [[unlikely]]
        return bad_window();
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    watermark_ = watermark;
    StepResult done = go_on(out);
    if (done == StepResult::done) done = sound_alarms<TimeDomain::event>(watermark.ms, out);
    if (done == StepResult::done) out.emit_watermark(watermark);
    return done;
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    if (under_way_) return ProcessingTime{};
    const auto next = processing_alarms_.queue.next_time_ms();
    return next ? std::optional(ProcessingTime{*next}) : std::nullopt;
  }

  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    if (const StepResult result = go_on(out); result != StepResult::done) return result;
    return sound_alarms<TimeDomain::processing>(now.ms, out);
  }

 private:
  static constexpr bool merging = Assigner::merging;
  static constexpr bool has_other_timers = sets_other_timers<Trigger>();

  using W = OpenWindow<typename Contents::Kept, TriggerState<Trigger>,
                       std::conditional_t<has_other_timers, TriggerTimers, Absent>,
                       typename Firing::PerWindow>;
  using Open = OpenWindows<W>;
  struct Alarms {
    AlarmQueue<K> queue;
    std::size_t looked_through_at = 64;  // so many, then stale ones are looked for
  };

  // The key that is being processed.
  struct Subject {
    const K& key;
    KeyHash hash;
    Outputs& out;
  };

  // A firing that is not done.
  struct UnderWay {
    K key{};
    KeyHash hash{};
    Window window{};
    TriggerResult result{};
    // The alarm at which the key is looked at; none if a record has fired the window.
    std::optional<std::pair<TimeDomain, std::int64_t>> alarm{};
  };
  // A record that has fired so: in which of its windows, and what that is among the open ones.
  struct StoppedRecord {
    std::size_t at = 0;
    Window window{};
  };
  enum class Taken : std::uint8_t { done, stopped, bad_window };
  // The earliest of some times. (The compiler keeps it in registers, other than a std::optional.)
  struct Next {
    bool any = false;
    std::int64_t ms = 0;

    void take(std::int64_t other_ms) {
      ms = any ? std::min(ms, other_ms) : other_ms;
      any = true;
    }
  };

  // --- times ---

  [[nodiscard]] static bool is_global(const Window& window) {
    return window.start == EventTime::min() && window.end == EventTime::max();
  }
  [[nodiscard]] static constexpr bool takes_records_without_time() {
    if constexpr (requires { Assigner::needs_time; })
      return !Assigner::needs_time;
    else
      return false;
  }
  [[nodiscard]] bool needs_event_time() const {
    return domain_ == TimeDomain::event && !takes_records_without_time();
  }
  // When nothing is left of the window, in its domain. Requires that it is not global.
  [[nodiscard]] EventTime over_at(const Window& window) const {
    if (domain_ == TimeDomain::processing) return window.max_time();
    return window.max_time() + settings_.allowed_lateness;
  }
  [[nodiscard]] bool is_over(const Window& window, EventTime watermark) const {
    return domain_ == TimeDomain::event && !is_global(window) && over_at(window) <= watermark;
  }
  // Of a key's group: after a restore it may be ahead of the others.
  [[nodiscard]] EventTime watermark_of(KeyHash hash) const {
    return std::max(watermark_, context_->reached.ahead(hash));
  }

  template <TimeDomain domain>
  [[nodiscard]] static Next next_timer(const W& w) {
    constexpr bool of_event_time = domain == TimeDomain::event;
    Next next;
    if (of_event_time ? w.end.event : w.end.processing) next.take(w.window.max_time().ms);
    if constexpr (has_other_timers) {
      if constexpr (of_event_time) {
        if (!w.timers.event.empty()) next.take(w.timers.event.front().ms);
      } else {
        if (!w.timers.processing.empty()) next.take(w.timers.processing.front().ms);
      }
    }
    return next;
  }
  // The first time at which the window needs to be looked at in the domain, if there is one.
  template <TimeDomain domain>
  [[nodiscard]] Next next_need(const W& w) const {
    Next next = next_timer<domain>(w);
    if (domain_ == domain && !is_global(w.window)) next.take(over_at(w.window).ms);
    return next;
  }

  // --- alarms ---

  template <TimeDomain domain>
  [[nodiscard]] static Alarm& alarm_of(Open& open) {
    if constexpr (domain == TimeDomain::event)
      return open.event_alarm;
    else
      return open.processing_alarm;
  }

  // Moves the key's alarm forward if the window needs that.
  template <TimeDomain domain>
  void need_alarm(Open& open, const W& w, const K& key, KeyHash hash) {
    const Next next = next_need<domain>(w);
    if (next.any && alarm_of<domain>(open).is_after(next.ms))
      set_alarm<domain>(open, next.ms, key, hash);
  }
  // Requires that none is set that is still right.
  template <TimeDomain domain>
  void set_next_alarm(Open& open, const Subject& subject) {
    Next next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Next need = next_need<domain>(open[i]);
      if (need.any) next.take(need.ms);
    }
    if (next.any && alarm_of<domain>(open).is_after(next.ms))
      set_alarm<domain>(open, next.ms, subject.key, subject.hash);
  }
  template <TimeDomain domain>
  void set_alarm(Open& open, std::int64_t at_ms, const K& key, KeyHash hash) {
    const Alarm alarm(at_ms);
    alarm_of<domain>(open) = alarm;
    Alarms& alarms = alarms_of<domain>();
    if (alarms.queue.size() >= alarms.looked_through_at) [[unlikely]] {
      if (alarms.queue.size() > 2 * table_->size()) drop_stale<domain>(alarms);
      alarms.looked_through_at = std::max<std::size_t>(64, 2 * alarms.queue.size());
    }
    alarms.queue.push({alarm.at_ms(), hash, key});
  }
  template <TimeDomain domain>
  [[nodiscard]] Alarms& alarms_of() {
    if constexpr (domain == TimeDomain::event)
      return event_alarms_;
    else
      return processing_alarms_;
  }

  // Alarms whose keys have gone, or are to be looked at another time.
  template <TimeDomain domain>
  void drop_stale(Alarms& alarms) {
    alarms.queue.drop_unless([this](const typename AlarmQueue<K>::Entry& entry) {
      const Open* open = std::as_const(*table_).find(entry.hash, entry.key);
      if (open == nullptr) return false;
      const Alarm& alarm = domain == TimeDomain::event ? open->event_alarm : open->processing_alarm;
      return alarm.is_for(entry.time_ms);
    });
  }

  template <TimeDomain domain>
  StepResult sound_alarms(std::int64_t now_ms, Outputs& out) {
    AlarmQueue<K>& alarms = alarms_of<domain>().queue;
    TouchAhead ahead;
    BudgetCheck check(out.budget());
    while (true) {
      if (out.any_full()) return StepResult::output_full;
      ahead.alarm(*table_, alarms, now_ms, touch_no_more);
      auto entry = alarms.pop_due(now_ms);
      if (!entry) return StepResult::done;
      Open* open = table_->find(entry->hash, entry->key);
      if (open != nullptr && alarm_of<domain>(*open).is_for(entry->time_ms) &&
          !look_at<domain>(*open, entry->time_ms, {entry->key, entry->hash, out}))
        return stopped_by(out);
      if (check.spent()) return StepResult::yield;
    }
  }

  // Does for a key what is due at a time, and sets its next alarm. False if a firing stops: then it is called again.
  template <TimeDomain domain>
  bool look_at(Open& open, std::int64_t time_ms, const Subject& subject) {
    alarm_of<domain>(open) = Alarm();
    for (std::size_t i = 0; i < open.size();) {
      W& w = open[i];
      if (!fire_timers<domain>(w, time_ms, subject)) {
        under_way_->alarm = {domain, time_ms};
        return false;
      }
      const bool is_done =
          is_global(w.window) ? is_as_new(w) : domain_ == domain && over_at(w.window).ms <= time_ms;
      if (is_done) {
        open.erase(i);
      } else {
        ++i;
      }
    }
    if (open.empty()) {
      table_->erase(subject.hash, subject.key);
      return true;
    }
    set_next_alarm<TimeDomain::event>(open, subject);
    set_next_alarm<TimeDomain::processing>(open, subject);
    return true;
  }

  // In the order of their times, those that are set meanwhile too.
  template <TimeDomain domain>
  bool fire_timers(W& w, std::int64_t time_ms, const Subject& subject) {
    for (Next next = take_timer<domain>(w, time_ms); next.any;
         next = take_timer<domain>(w, time_ms)) {
      TriggerContext context = trigger_context(w, subject.hash);
      TriggerResult result{};
      if constexpr (domain == TimeDomain::event)
        result = trigger_detail::on_event_time(trigger_, EventTime{next.ms}, context, w.trigger);
      else
        result = trigger_detail::on_processing_time(trigger_, ProcessingTime{next.ms}, context,
                                                    w.trigger);
      if (!apply(result, w, subject)) return false;
    }
    return true;
  }
  template <TimeDomain domain>
  [[nodiscard]] static Next take_timer(W& w, std::int64_t time_ms) {
    constexpr bool of_event_time = domain == TimeDomain::event;
    const Next next = next_timer<domain>(w);
    if (!next.any || next.ms > time_ms) return {};
    bool& end = of_event_time ? w.end.event : w.end.processing;
    if (w.window.max_time().ms == next.ms) end = false;
    if constexpr (has_other_timers) {
      auto& timers = [&w]() -> auto& {
        if constexpr (of_event_time)
          return w.timers.event;
        else
          return w.timers.processing;
      }
      ();
      if (!timers.empty() && timers.front().ms == next.ms) timers.erase(timers.begin());
    }
    return next;
  }

  // --- records ---

  // After `bad_window` that is in bad_window_. After `stopped` it is called again, once the firing is done.
  Taken take(const T& value, KeyHash hash, EventTime record_time, Outputs& out) {
    const EventTime time = domain_ == TimeDomain::processing ? EventTime{now_.ms} : record_time;
    const auto& key = std::invoke(selector_, value);
    const EventTime watermark = watermark_of(hash);
    Open* open = nullptr;
    bool entered = false;
    std::size_t near = 0;
    std::size_t i = 0;
    if (const auto stopped = std::exchange(stopped_, {})) [[unlikely]] {
      open = table_->find(hash, key);
      if (open != nullptr) drop_if_as_new(*open, find_window(*open, stopped->window));
      entered = true;
      i = stopped->at + 1;
    } else {
      windows_.clear();
      assigner_.assign(value, time, windows_);
    }
    for (; i < windows_.size(); ++i) {
      const Window& window = windows_[i];
      if (window.end <= window.start && window.end != EventTime::max()) [[unlikely]] {
        bad_window_ = window;
        return Taken::bad_window;
      }
      if (is_over(window, watermark) && !(merging && touches_open(window, hash, key))) continue;
      if (open == nullptr) {
        open = &table_->find_or_insert(hash, key);
        near = open->size();
      }
      entered = true;
      near = place_of(*open, window, near);
      W& w = (*open)[near];
      contents_.add(w.contents, value, record_time);
      w.has_contents = true;
      TriggerContext context = trigger_context(w, hash);
      const TriggerResult result =
          trigger_detail::on_element(trigger_, value, time, context, w.trigger);
      need_alarm<TimeDomain::event>(*open, w, key, hash);
      need_alarm<TimeDomain::processing>(*open, w, key, hash);
      if (result == TriggerResult::continue_) continue;
      if (!apply(result, w, {key, hash, out})) {
        stopped_ = {i, w.window};
        return Taken::stopped;
      }
      drop_if_as_new(*open, near);
    }
    if (!entered) {
      drop_if_late(value, time, record_time, watermark, out);
    } else if (open != nullptr && open->empty()) {
      table_->erase(hash, key);
    }
    return Taken::done;
  }

  // A global window that a record has fired. Beyond the last: nothing.
  void drop_if_as_new(Open& open, std::size_t at) {
    if (at < open.size() && is_global(open[at].window) && is_as_new(open[at])) open.erase(at);
  }
  // Its place; size() if it is not open.
  [[nodiscard]] static std::size_t find_window(const Open& open, const Window& window) {
    std::size_t at = 0;
    while (at < open.size() && open[at].window != window) ++at;
    return at;
  }

  void drop_if_late(const T& value, EventTime time, EventTime record_time, EventTime watermark,
                    Outputs& out) {
    const bool is_late =
        domain_ == TimeDomain::event && time + settings_.allowed_lateness <= watermark;
    // Else the assigner has no window for it.
    if (is_late) drop_late(value, record_time, settings_.late, *context_->metrics, out);
  }

  // Where the window is among the open ones, which it is put into, or merged with, if need be. `near` is where to look first.
  std::size_t place_of(Open& open, const Window& window, std::size_t near) {
    if constexpr (merging) {
      return merge_in(open, window);
    } else {
      std::size_t i = std::min(near, open.size());
      while (i > 0 && !(open[i - 1].window < window)) --i;
      while (i < open.size() && open[i].window < window) ++i;
      if (i == open.size() || open[i].window != window) open_at(open, i, window);
      return i;
    }
  }
  static void open_at(Open& open, std::size_t at, const Window& window) {
    W w{};
    w.window = window;
    open.insert(at, std::move(w));
  }

  [[nodiscard]] static bool touch(const Window& a, const Window& b) {
    return a.start <= b.end && a.end >= b.start;
  }
  [[nodiscard]] bool touches_open(const Window& window, KeyHash hash, const K& key) const {
    const Open* open = std::as_const(*table_).find(hash, key);
    if (open == nullptr) return false;
    for (std::size_t i = 0; i < open->size(); ++i) {
      if (touch((*open)[i].window, window)) return true;
    }
    return false;
  }

  // Windows that touch the new one become one with it: the earliest, which takes what the others hold.
  std::size_t merge_in(Open& open, const Window& window) {
    std::size_t i = open.size();
    while (i > 0 && open[i - 1].window.end >= window.start) --i;
    if (i == open.size() || !touch(open[i].window, window)) {
      open_at(open, i, window);
      return i;
    }
    while (i + 1 < open.size() && touch(open[i + 1].window, window)) {
      take_over(open[i], open[i + 1]);
      open.erase(i + 1);
    }
    W& merged = open[i];
    merged.window.start = std::min(merged.window.start, window.start);
    merged.window.end = std::max(merged.window.end, window.end);
    return i;
  }

  void take_over(W& into, W& other) {
    into.window.end = std::max(into.window.end, other.window.end);
    if (!into.has_contents) {
      std::swap(into.contents, other.contents);
      into.has_contents = other.has_contents;
    } else if (other.has_contents) {
      contents_.merge(into.contents, std::move(other.contents));
    }
    trigger_detail::merge(trigger_, into.trigger, other.trigger);
    into.end.event |= other.end.event;
    into.end.processing |= other.end.processing;
    if constexpr (has_other_timers) {
      unite(into.timers.event, other.timers.event);
      unite(into.timers.processing, other.timers.processing);
    }
  }
  template <class Time>
  static void unite(std::vector<Time>& into, const std::vector<Time>& other) {
    std::vector<Time> both;
    std::set_union(into.begin(), into.end(), other.begin(), other.end(), std::back_inserter(both));
    into = std::move(both);
  }

  // --- firing ---

  [[nodiscard]] TriggerContext trigger_context(W& w, KeyHash hash) {
    TriggerTimers* timers = nullptr;
    if constexpr (has_other_timers) timers = &w.timers;
    return {w.window, domain_, watermark_of(hash), *context_->clock, w.end, timers};
  }

  // False if the firing has stopped: it is under_way_ then.
  bool apply(TriggerResult result, W& w, const Subject& subject, bool resumes = false) {
    if (fires(result) && w.has_contents) {
      const Fired fired = contents_.fire(w.contents, w.window, resumes, [&](auto&& given) {
        return firing_.call(subject.key, subject.hash, w.window, w.per_window,
                            std::forward<decltype(given)>(given), watermark_of(subject.hash),
                            subject.out);
      });
      if (fired == Fired::stopped) {
        under_way_ = UnderWay{subject.key, subject.hash, w.window, result};
        return false;
      }
      if (fired == Fired::emptied) w.clear_contents();
    }
    if (purges(result)) w.clear_contents();
    return true;
  }

  // Ends the firing that is under way, if one is, and what its key's alarm was for.
  StepResult go_on(Outputs& out) {
    if constexpr (stops_midway<Firing>) {
      if (!under_way_) return StepResult::done;
      const UnderWay at = *std::exchange(under_way_, {});
      const Subject subject{at.key, at.hash, out};
      Open* open = table_->find(at.hash, at.key);
      WEIR_CHECK(open != nullptr);
      const std::size_t place = find_window(*open, at.window);
      WEIR_CHECK(place < open->size());
      if (!apply(at.result, (*open)[place], subject, true)) {
        under_way_->alarm = at.alarm;
        return stopped_by(out);
      }
      if (!at.alarm) return StepResult::done;
      const auto [domain, time_ms] = *at.alarm;
      const bool done = domain == TimeDomain::event
                            ? look_at<TimeDomain::event>(*open, time_ms, subject)
                            : look_at<TimeDomain::processing>(*open, time_ms, subject);
      return done ? StepResult::done : stopped_by(out);
    } else {
      return StepResult::done;
    }
  }
  [[nodiscard]] static StepResult stopped_by(const Outputs& out) {
    return out.any_full() ? StepResult::output_full : StepResult::yield;
  }

  // Whether a global window, which is never over, can go because a new one would be no different.
  [[nodiscard]] static bool is_as_new(const W& w) {
    if (w.has_contents || w.end.event || w.end.processing) return false;
    if constexpr (has_other_timers) {
      if (!w.timers.event.empty() || !w.timers.processing.empty()) return false;
    }
    if constexpr (!std::is_same_v<typename Firing::PerWindow, Absent>) {
      if (std::apply([](const auto&... slot) { return (slot.has_value() || ...); }, w.per_window))
        return false;
    }
    if constexpr (std::equality_comparable<TriggerState<Trigger>>)
      return w.trigger == TriggerState<Trigger>{};
    else
      return false;
  }

  // --- mistakes ---

  [[nodiscard]] Error bad_window() const {
    const std::string length = std::to_string((bad_window_.end.ms - bad_window_.start.ms));
    return {Errc::user_code,
            "a " + assigner_.name() + " of '" + context_->operator_name + "' would be " + length +
                " ms long: " +
                (merging ? "the gap function must return more than 0 for every record"
                         : "a window must end after it starts")};
  }

  Selector selector_;
  Assigner assigner_;
  Trigger trigger_;
  Contents contents_;
  Firing firing_;
  WindowSettings settings_;
  TimeDomain domain_;
  const OperatorContext* context_ = nullptr;
  std::shared_ptr<KeyedTable<K, Open>> table_;  // shared with the backend
  Alarms event_alarms_;
  Alarms processing_alarms_;
  EventTime watermark_ = EventTime::min();
  ProcessingTime now_{};         // of the records being processed, for windows of processing time
  std::vector<Window> windows_;  // of the record being processed
  Window bad_window_{};
  std::optional<UnderWay> under_way_;
  std::optional<StoppedRecord> stopped_;
};

}  // namespace weir
