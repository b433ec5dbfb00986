// Streams divided by key and window.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "dataflow/api/built_in_aggregates.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/results.h"
#include "dataflow/operators/tumbling_window.h"
#include "dataflow/window/tumbling.h"

namespace weir {

// Records per key and window of event time. Results carry the window's last millisecond as their
// time.
template <class T, class Selector>
class WindowedStream : public BuiltInAggregates<WindowedStream<T, Selector>, T> {
 public:
  using K = KeyOf<Selector, T>;

  WindowedStream(KeyedStream<T, Selector> stream, Tumbling windows)
      : stream_(std::move(stream)), windows_(windows) {}

  // make(const K&, Window, result) → the row.
  template <class Agg, class Make>
  [[nodiscard]] auto aggregate(std::string name, Agg agg, Make make) const {
    static_assert(AggregateFunction<Agg, T>,
                  "weir: an aggregate needs a default-constructible Accumulator, add(Accumulator&, "
                  "const T&) const "
                  "and result(const Accumulator&) const");
    static_assert(std::invocable<Make&, const K&, Window, AggregateResult<Agg>>,
                  "weir: the result function needs to be callable with (const Key&, Window, the "
                  "aggregate's result)");
    using Row = stream_detail::ResultOf<Make, const K&, Window, AggregateResult<Agg>>;
    using Op = TumblingWindowOperator<T, Selector, Agg, Row, Make>;
    return stream_.template then<Row>(stream_.template keyed_node<Row>(
        std::move(name), "tumbling window",
        [agg, make, windows = windows_, selector = stream_.selector()] {
          return std::make_unique<Op>(selector, windows, agg, make);
        }));
  }
  // Rows are Windowed<K, result>.
  template <class Agg>
  [[nodiscard]] auto aggregate(std::string name, Agg agg) const {
    using Row = Windowed<K, AggregateResult<Agg>>;
    return aggregate(std::move(name), std::move(agg),
                     [](const K& key, Window window, AggregateResult<Agg> value) {
                       return Row{window.start, window.end, key, std::move(value)};
                     });
  }
  template <class F>
  [[nodiscard]] auto reduce(std::string name, F f) const {
    return aggregate(std::move(name), Reduce<F, T>{std::move(f)},
                     [](const K&, Window, T value) { return value; });
  }

 private:
  KeyedStream<T, Selector> stream_;
  Tumbling windows_;
};

}  // namespace weir
