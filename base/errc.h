// The catalogue of errors: every code with its cause and what to do about it.
#pragma once

#include <string_view>

namespace weir {

enum class Errc {
  // An option is unknown, missing or malformed: mend the call.
  bad_option,
  // The job's plan has mistakes; the message lists all of them: mend the program.
  invalid_plan,
  // An input does not exist, or a pattern matches nothing: check the path.
  input_missing,
  // An input cannot be read as what it should be: check its kind and permissions.
  input_unreadable,
  // A record does not parse: see file and line; without --strict such records are counted.
  bad_record,
  // The output is already there: pass --overwrite or choose another.
  output_exists,
  // Writing or committing output failed: see the system's reason (space, permissions).
  output_failed,
  // What a job had written to its output is gone, changed or in its way, and no restart mends that: start the job anew.
  output_lost,
  // Encoded bytes do not decode: the file or message was damaged or is of another version.
  corrupt_data,
  // A user function threw or broke its contract: see its message and the operator's name.
  user_code,
  // The cluster offers fewer slots than the job needs: add slots or lower parallelism.
  not_enough_slots,
  // A peer did not answer in time: see whether its process lives.
  timeout,
  // An actor that the job needs has died: see the reason in the message.
  actor_lost,
  // The job was cancelled on request: nothing to do.
  cancelled,
  // The operating system refused something: see its reason.
  system,
  // User code did not return in time after a cancel and was abandoned: see the step named.
  task_stuck,
  // A connection between two processes of a job broke or was never made: see the host and the reason named.
  connection_lost,
  // One record or message is larger than the wire carries: make it smaller.
  too_large,
  // The process that ran a job's tasks ended: see its signal or exit code and its last lines.
  process_lost,
  // A node of the cluster cannot be reached or refuses us: see address, secret and version.
  cluster_unreachable,
  // The program builds another plan on a worker than at submission: describe must depend on options only.
  plan_mismatch,
  // The cluster knows no such job: `job list --all` shows those it knows.
  no_such_job,
  // State that is restored does not fit the program: restore with the program that wrote it, or under new names.
  state_mismatch,
  // The state in a checkpoint is damaged: the job goes on from an older one, if it has one (--retained-checkpoints).
  checkpoint_damaged,
  // More checkpoints failed in a row than are tolerated: see the reason of the last one.
  checkpoint_failed,
};

// The code's name as written above, for logs and messages.
[[nodiscard]] std::string_view name_of(Errc code);

}  // namespace weir
