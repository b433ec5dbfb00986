#include "actors/commit_limit.h"

#include <cstdint>

#include "actors/remote_message.h"
#include "base/options.h"

namespace weir {
namespace {

// Beside it are a few ids, or what else a task acknowledges: its state, if that is small, or where it lies.
constexpr std::size_t of_sink_max = remote_message_bytes_max - std::size_t{4096};
constexpr std::size_t of_task_max = remote_message_bytes_max / 2;

Result<void> check(const std::string& whose, std::size_t bytes, std::size_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return Error{Errc::too_large,
               whose + " has " + size_text(bytes) + " to commit at once, and at most " +
                   size_text(bytes_max) +
                   " are possible: have it write fewer and larger files (buckets, rolling policy), "
                   "or take checkpoints more often"};
}

}  // namespace

std::size_t bytes_of(const std::vector<Committable>& committables) {
  std::size_t bytes = 0;
  for (const Committable& one : committables) bytes += one.bytes.size() + sizeof(std::uint32_t);
  return bytes;
}

Result<void> check_commit_of_task(const std::string& sink, std::size_t bytes) {
  return check("a task of '" + sink + "'", bytes, of_task_max);
}

Result<void> check_commit_of_sink(const std::string& sink, std::size_t bytes) {
  return check("'" + sink + "'", bytes, of_sink_max);
}

}  // namespace weir
