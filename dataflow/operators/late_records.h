// What operators of event time do with records that have no time, or that come too late.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"

namespace weir {

// `where`: "before the window".
[[nodiscard]] inline Error missing_time(const std::string& operator_name,
                                        const std::string& where) {
  return {
      Errc::user_code,
      "'" + operator_name + "' received a record without event time: put .event_time(…) " + where};
}

// To the output for late records; none: it is counted and dropped.
template <class T>
void drop_late(const T& value, EventTime at, std::optional<OutputPort> late,
               OperatorMetrics& metrics, Outputs& out) {
  if (late) {
    out.port<T>(*late).push(value, at);
  } else {
    ++metrics.late_records_dropped;
  }
}

}  // namespace weir
