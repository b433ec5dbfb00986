#include "actors/task_probe.h"

#include <algorithm>

namespace weir {
namespace {

template <class N>
N read(const std::atomic<N>& figure) {
  return figure.load(std::memory_order_relaxed);
}

// How long something has lasted that began at `began_ns`; nothing if that is 0.
std::uint64_t lasted(std::int64_t began_ns, MonotonicTime now) {
  const std::int64_t now_ns = now.time_since_epoch().count();
  return began_ns == 0 ? 0
                       : static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns - began_ns));
}

}  // namespace

TaskReport make_report(const TaskProbe& probe, MonotonicTime now) {
  const TaskMetrics& metrics = probe.metrics;
  // The step or wait under way counts as far as it has come.
  const std::uint64_t step_ns = lasted(read(metrics.step_began_ns), now);
  TaskReport report{
      .task = probe.task,
      .records_in = read(metrics.records_in),
      .records_out = read(metrics.records_out),
      .bytes_in = read(metrics.bytes_in),
      .bytes_out = read(metrics.bytes_out),
      .head_records_out = read(metrics.head_records_out),
      .read_units = read(metrics.read_units),
      .bad_records = 0,
      .late_records_dropped = 0,
      .records_ahead = 0,
      .watermark = {read(metrics.watermark_ms)},
      .busy_ns = read(metrics.busy_ns) + step_ns,
      .backpressured_ns =
          read(metrics.backpressured_ns) + lasted(read(metrics.backpressured_since_ns), now),
      .queued_bytes = read(metrics.queued_bytes),
      .in_flight_bytes = read(metrics.in_flight_bytes),
      .window_bytes = read(metrics.window_bytes),
      .stage_called = read(metrics.stage_called),
      .step_ms = static_cast<std::uint32_t>(step_ns / 1'000'000),
      .at_ns = now.time_since_epoch().count(),
      .exchanges = {},
      .counters = {},
  };
  if (const std::uint32_t step = read(metrics.waits_for_step); step > 0)
    report.waits_for = NodeId{step - 1};
  for (const ExchangeMetrics& exchange : metrics.exchanges) {
    report.exchanges.push_back({.records_out = read(exchange.records_out),
                                .bytes_out = read(exchange.bytes_out),
                                .in_flight_bytes = read(exchange.in_flight_bytes),
                                .window_bytes = read(exchange.window_bytes),
                                .sampled_records = read(exchange.sampled_records),
                                .largest_group_records = read(exchange.largest_group_records),
                                .largest_group = read(exchange.largest_group)});
  }
  for (const OperatorMetrics& metrics_of_operator : probe.operators) {
    report.bad_records += read(metrics_of_operator.bad_records);
    report.late_records_dropped += read(metrics_of_operator.late_records_dropped);
    report.records_ahead += read(metrics_of_operator.records_ahead);
    if (report.splits.splits == 0) report.splits = metrics_of_operator.splits.read();
    const auto stage = static_cast<std::size_t>(&metrics_of_operator - probe.operators.data());
    metrics_of_operator.counters.for_each([&](const std::string& name, std::int64_t value) {
      report.counters.push_back({probe.stage_names[stage], name, value});
    });
  }
  return report;
}

}  // namespace weir
