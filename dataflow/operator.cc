#include "dataflow/operator.h"

#include <exception>
#include <new>

#include "base/memory_limit.h"
#include "base/options.h"

namespace weir {

Result<void> Operator::open(const OperatorContext& /*context*/) {
  return {};
}

Result<StepResult> Operator::on_watermark(EventTime watermark, Outputs& out) {
  out.emit_watermark(watermark);
  return StepResult::done;
}

Result<StepResult> Operator::on_idle(bool idle, Outputs& out) {
  out.emit_idle(idle);
  return StepResult::done;
}

Result<StepResult> Operator::on_processing_time(ProcessingTime /*now*/, Outputs& /*out*/) {
  return StepResult::done;
}

Result<StepResult> Operator::on_end_of_input(InputPort /*port*/, Outputs& /*out*/) {
  return StepResult::done;
}

Result<StepResult> Operator::finish(Outputs& /*out*/) {
  return StepResult::done;
}

Result<StepResult> Operator::on_barrier(CheckpointId /*checkpoint*/, Outputs& /*out*/) {
  return StepResult::done;
}

Result<StepResult> Operator::on_loop_marker(LoopMarker marker, Outputs& out) {
  out.emit_loop_marker(marker);
  return StepResult::done;
}

Result<void> Operator::prepare_snapshot(CheckpointId /*checkpoint*/) {
  return {};
}

Result<void> Operator::on_checkpoint_complete(CheckpointId /*checkpoint*/) {
  return {};
}

Error user_code_error(const std::string& operator_name) {
  const std::string function = "user function of '" + operator_name + "'";
  const std::string where = function + " threw ";
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Errc::user_code,
            function + " ran out of memory (std::bad_alloc)" + memory_limit_words()};
  } catch (const std::system_error& e) {
    const std::string why = tells_of_no_memory(e.code()) ? memory_limit_words() : "";
    return {Errc::user_code, where + "an exception: " + e.what() + why};
  } catch (const std::exception& e) {
    return {Errc::user_code, where + "an exception: " + e.what()};
  } catch (...) {
    return {Errc::user_code, where + "something that is not a std::exception"};
  }
}

}  // namespace weir
