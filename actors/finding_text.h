// A finding of a diagnosis in words: what it is, the numbers that show it, and what to do.
#pragma once

#include <string>
#include <vector>

#include "actors/diagnosis.h"
#include "dataflow/plan/job_graph.h"

namespace weir {

struct FindingText {
  std::string kind;  // "bottleneck", "backpressure", "watermark", "split", "alignment" or "skew"
  std::string what = {};                   // one sentence
  std::vector<std::string> evidence = {};  // a line each
  std::string advice = {};
};

[[nodiscard]] FindingText describe(const JobGraph& graph, const Finding& finding);

// "97 %"
[[nodiscard]] std::string percent_text(double share);
// "1,234/s"
[[nodiscard]] std::string rate_text(double per_second);
// "none yet" and "end" for those that are no times.
[[nodiscard]] std::string watermark_text(EventTime watermark);
// "250 ms", "1.5 s", "3 min 20 s", "2 h 5 min"
[[nodiscard]] std::string duration_text(Duration duration);

}  // namespace weir
