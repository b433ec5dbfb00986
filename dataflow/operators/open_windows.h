// The state of one key of a window operator: the windows that are open for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/check.h"
#include "base/codec.h"
#include "base/schema.h"
#include "dataflow/operators/compact_vector.h"
#include "dataflow/window/trigger.h"
#include "dataflow/window/window.h"

namespace weir {

// In place of the parts of an OpenWindow that it does not need.
struct Absent {
  friend bool operator==(Absent, Absent) = default;
};

// A window with what it holds. TriggerMemory and PerWindow (of the window's function) are empty types where nothing is remembered; Timers
// is TriggerTimers or Absent.
template <class Contents, class TriggerMemory, class Timers, class PerWindow>
struct OpenWindow {
  Window window{};
  Contents contents{};
  [[no_unique_address]] TriggerMemory trigger{};
  [[no_unique_address]] Timers timers{};
  [[no_unique_address]] PerWindow per_window{};
  EndTimers end{};
  bool has_contents = false;

  void clear_contents() {
    if (has_contents) contents = Contents{};
    has_contents = false;
  }
};

// When an operator wants to look at a key again, in one time domain: there is an entry for it in the AlarmQueue.
class Alarm {
 public:
  Alarm() = default;
  explicit Alarm(std::int64_t at_ms) : at_ms_(std::max(at_ms, none + 1)) {}

  [[nodiscard]] bool is_set() const { return at_ms_ != none; }
  // Requires that it is set.
  [[nodiscard]] std::int64_t at_ms() const { return at_ms_; }
  [[nodiscard]] bool is_for(std::int64_t time_ms) const { return is_set() && at_ms_ == time_ms; }
  [[nodiscard]] bool is_after(std::int64_t time_ms) const { return !is_set() || at_ms_ > time_ms; }

 private:
  // In place of a time, so that the state of a key fits into a line of the cache. An alarm for it, the first time there is, comes
  // a millisecond later.
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

  std::int64_t at_ms_ = none;
};

// The windows of a key in the order of their times, with room for one in place: most keys have no more. With none it is as if
// the key were not there. References are valid until an insertion or erasure.
template <class W>
class OpenWindows {
 public:
  OpenWindows() { first_.window = nowhere; }

  [[nodiscard]] std::size_t size() const { return empty() ? 0 : 1 + more_.size(); }
  [[nodiscard]] bool empty() const { return first_.window == nowhere; }
  [[nodiscard]] W& operator[](std::size_t i) { return i == 0 ? first_ : more_[i - 1]; }
  [[nodiscard]] const W& operator[](std::size_t i) const { return i == 0 ? first_ : more_[i - 1]; }

  // Requires at <= size() and that the order stays.
  W& insert(std::size_t at, W window) {
    if (empty()) return first_ = std::move(window);
    if (at == 0) {
      more_.insert(more_.begin(), std::exchange(first_, std::move(window)));
      return first_;
    }
    return more_.insert(more_.begin() + (at - 1), std::move(window));
  }
  // Requires at < size().
  void erase(std::size_t at) {
    if (at > 0) {
      more_.erase(more_.begin() + (at - 1));
    } else if (!more_.empty()) {
      first_ = more_.take_front();
    } else {
      first_ = W{};
      first_.window = nowhere;
    }
  }

  Alarm event_alarm;
  Alarm processing_alarm;

 private:
  friend struct Codec<OpenWindows>;
  friend struct HeapBytes<OpenWindows>;

  // No window ends before it starts.
  static constexpr Window nowhere{EventTime::max(), EventTime::min()};

  W first_{};  // nowhere if there is none
  CompactVector<W> more_;
};

// Contents are written where there are some, and so are the memories that are not empty types.
template <class... Parts>
struct Codec<OpenWindow<Parts...>> : codec_detail::ReadsInPlace<OpenWindow<Parts...>> {
  using W = OpenWindow<Parts...>;
  static constexpr bool parts_encodable = true;

  static void encode(ByteWriter& writer, const W& window) {
    weir::encode(writer, window.window);
    writer.scalar(static_cast<std::uint8_t>((window.end.event ? event_bit : 0) |
                                            (window.end.processing ? processing_bit : 0) |
                                            (window.has_contents ? contents_bit : 0)));
    if (window.has_contents) weir::encode(writer, window.contents);
    encode_part(writer, window.trigger);
    encode_part(writer, window.timers);
    encode_part(writer, window.per_window);
  }
  static void read(ByteReader& reader, W& window) {
    window = W{};
    decode_into(reader, window.window);
    const auto bits = reader.scalar<std::uint8_t>();
    if (bits > (event_bit | processing_bit | contents_bit)) reader.fail("the bits of a window");
    window.end.event = (bits & event_bit) != 0;
    window.end.processing = (bits & processing_bit) != 0;
    window.has_contents = (bits & contents_bit) != 0;
    if (window.has_contents) decode_into(reader, window.contents);
    read_part(reader, window.trigger);
    read_part(reader, window.timers);
    read_part(reader, window.per_window);
  }
  static Schema schema() {
    return schema_detail::of_parts<decltype(W::window), decltype(W::contents), decltype(W::trigger),
                                   decltype(W::timers), decltype(W::per_window)>(SchemaKind::record,
                                                                                 "window");
  }

 private:
  static constexpr unsigned event_bit = 1, processing_bit = 2, contents_bit = 4;

  template <class Part>
  static void encode_part(ByteWriter& writer, const Part& part) {
    if constexpr (!std::is_empty_v<Part>) weir::encode(writer, part);
  }
  template <class Part>
  static void read_part(ByteReader& reader, Part& part) {
    if constexpr (!std::is_empty_v<Part>) decode_into(reader, part);
  }
};

template <>
struct Codec<Alarm> : codec_detail::ReadsInPlace<Alarm> {
  static constexpr bool parts_encodable = true;
  static constexpr std::size_t least_bytes = 1;
  static void encode(ByteWriter& writer, const Alarm& alarm) {
    weir::encode(writer, alarm.is_set());
    if (alarm.is_set()) writer.scalar(alarm.at_ms());
  }
  static void read(ByteReader& reader, Alarm& alarm) {
    bool is_set = false;
    decode_into(reader, is_set);
    alarm = is_set ? Alarm(reader.scalar<std::int64_t>()) : Alarm();
  }
  static Schema schema() { return schema_of<std::optional<std::int64_t>>(); }
};

template <class W>
struct Codec<OpenWindows<W>> : codec_detail::ReadsInPlace<OpenWindows<W>> {
  static constexpr bool parts_encodable = true;
  static void encode(ByteWriter& writer, const OpenWindows<W>& open) {
    weir::encode(writer, open.event_alarm);
    weir::encode(writer, open.processing_alarm);
    writer.count(open.size());
    for (std::size_t i = 0; i < open.size(); ++i) weir::encode(writer, open[i]);
  }
  static void read(ByteReader& reader, OpenWindows<W>& open) {
    open = OpenWindows<W>{};
    decode_into(reader, open.event_alarm);
    decode_into(reader, open.processing_alarm);
    const std::size_t count = reader.count(sizeof(Window));
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
      W window{};
      decode_into(reader, window);
      open.insert(i, std::move(window));
    }
  }
  static Schema schema() {
    return schema_detail::of_parts<Alarm, Alarm, std::vector<W>>(SchemaKind::record,
                                                                 "open windows");
  }
};

template <class... Parts>
struct HeapBytes<OpenWindow<Parts...>> {
  using W = OpenWindow<Parts...>;
  static constexpr bool has_heap =
      weir::has_heap<decltype(W::contents)> || weir::has_heap<decltype(W::trigger)> ||
      weir::has_heap<decltype(W::timers)> || weir::has_heap<decltype(W::per_window)>;
  static std::size_t bytes(const W& window) {
    return heap_bytes(window.contents) + heap_bytes(window.trigger) + heap_bytes(window.timers) +
           heap_bytes(window.per_window);
  }
};

template <class W>
struct HeapBytes<OpenWindows<W>> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const OpenWindows<W>& open) {
    return heap_bytes(open.first_) + heap_bytes(open.more_);
  }
};

}  // namespace weir
