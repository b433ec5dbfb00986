#include "base/errc.h"

#include "base/check.h"

namespace weir {

std::string_view name_of(Errc code) {
  switch (code) {
    case Errc::bad_option:
      return "bad_option";
    case Errc::invalid_plan:
      return "invalid_plan";
    case Errc::input_missing:
      return "input_missing";
    case Errc::input_unreadable:
      return "input_unreadable";
    case Errc::bad_record:
      return "bad_record";
    case Errc::output_exists:
      return "output_exists";
    case Errc::output_failed:
      return "output_failed";
    case Errc::output_lost:
      return "output_lost";
    case Errc::corrupt_data:
      return "corrupt_data";
    case Errc::user_code:
      return "user_code";
    case Errc::not_enough_slots:
      return "not_enough_slots";
    case Errc::timeout:
      return "timeout";
    case Errc::actor_lost:
      return "actor_lost";
    case Errc::cancelled:
      return "cancelled";
    case Errc::system:
      return "system";
    case Errc::task_stuck:
      return "task_stuck";
    case Errc::connection_lost:
      return "connection_lost";
    case Errc::too_large:
      return "too_large";
    case Errc::process_lost:
      return "process_lost";
    case Errc::cluster_unreachable:
      return "cluster_unreachable";
    case Errc::plan_mismatch:
      return "plan_mismatch";
    case Errc::no_such_job:
      return "no_such_job";
    case Errc::state_mismatch:
      return "state_mismatch";
    case Errc::checkpoint_damaged:
      return "checkpoint_damaged";
    case Errc::checkpoint_failed:
      return "checkpoint_failed";
  }
  WEIR_CHECK(false);
  return {};
}

}  // namespace weir
