// The catalogue of errors: every code with its cause and what to do about it.
#pragma once

#include <string_view>

namespace weir {

enum class Errc {
  bad_option,  // A command-line or configuration option is unknown, missing or malformed: mend the
               // call.
  invalid_plan,   // The job's plan has mistakes; the message lists all of them: mend the program.
  input_missing,  // An input file or directory does not exist or a glob matches nothing: check the
                  // path.
  input_unreadable,  // An input exists but cannot be read as what it should be: check kind and
                     // permissions.
  bad_record,     // A record does not parse: see the file and line; drop --strict to count and skip
                  // it.
  output_exists,  // The output is already there: pass --overwrite or choose another.
  output_failed,  // Writing or committing output failed: see the system's reason (space,
                  // permissions).
  corrupt_data,   // Encoded bytes do not decode: the file or message was damaged or is of another
                  // version.
  user_code,      // A user function threw or broke its contract: see its message and the operator's
                  // name.
  not_enough_slots,  // The cluster offers fewer task slots than the job needs: add slots or lower
                     // parallelism.
  timeout,           // A peer did not answer in time: see whether its process lives.
  actor_lost,        // An actor that the job needs has died: see the reason in the message.
  cancelled,         // The job was cancelled on request.
  system,            // The operating system refused something: see its reason.
  task_stuck,        // User code did not return in time after a cancel; the task was abandoned.
};

// The code's name as written above, for logs and messages.
[[nodiscard]] std::string_view name_of(Errc code);

}  // namespace weir
