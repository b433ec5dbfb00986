// count, sum, min and max, for every kind of stream that has aggregate().
#pragma once

#include <string>
#include <utility>

#include "dataflow/api/aggregates.h"
#include "dataflow/api/function_traits.h"

namespace weir {

// Self is the stream type, T its record type; self.aggregate(name, agg) does the work.
template <class Self, class T>
class BuiltInAggregates {
 public:
  [[nodiscard]] auto count(std::string name) const {
    return self().aggregate(std::move(name), Count{});
  }
  // Of a field: a member pointer or a function of the record.
  template <class Field>
  [[nodiscard]] auto sum(std::string name, Field field) const {
    return self().aggregate(std::move(name),
                            Sum<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto min(std::string name, Field field) const {
    return self().aggregate(std::move(name),
                            Min<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto max(std::string name, Field field) const {
    return self().aggregate(std::move(name),
                            Max<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }

 private:
  [[nodiscard]] const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace weir
