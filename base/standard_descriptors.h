// Standard input, output and error of this process.
#pragma once

namespace weir {

// Opens /dev/null on those of the three that the process was started without. Else the next file or pipe that is opened
// gets their number, and whatever is printed goes into it. First of all in main; does nothing about what fails.
void open_missing_standard_descriptors();

}  // namespace weir
