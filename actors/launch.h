// The main function of a job's program.
#pragma once

#include <functional>

#include "dataflow/api/weir.h"

namespace weir {

// Reads the command line, lets `describe` build the job, and runs it:
//
//   int main(int argc, char** argv) { return weir::launch(argc, argv, word_count); }
//
// `describe` may be called several times and must do nothing but describe. Results of print() go to
// standard output, everything else (progress, warnings, errors) to standard error. Ctrl-C cancels
// the job, twice ends the process. Returns the exit code: 0 finished, 1 failed, 2 wrong usage, 130
// interrupted.
[[nodiscard]] int launch(int argc, char** argv, const std::function<void(Job&)>& describe);

}  // namespace weir
