// How much a sink may have to commit at once: it goes to its committer in one message.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataflow/sink.h"

namespace weir {

[[nodiscard]] std::size_t bytes_of(const std::vector<Committable>& committables);

// Of one task of the sink, and of all of them together; Errc::too_large names the sink and says what to do.
[[nodiscard]] Result<void> check_commit_of_task(const std::string& sink, std::size_t bytes);
[[nodiscard]] Result<void> check_commit_of_sink(const std::string& sink, std::size_t bytes);

}  // namespace weir
