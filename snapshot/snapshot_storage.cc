#include "snapshot/snapshot_storage.h"

namespace weir {
namespace {

Result<void> write_and_remove(SnapshotStorage& storage) {
  const std::string probe = ".weir-can-write";
  WEIR_TRY(storage.make_directories(""));
  auto file = storage.create(probe);
  if (!file) return file.error();
  constexpr std::byte content[1]{};
  WEIR_TRY((*file)->write(content));
  WEIR_TRY((*file)->close());
  return storage.remove(probe);
}

}  // namespace

Result<void> check_writable(SnapshotStorage& storage) {
  const auto written = write_and_remove(storage);
  if (written) return {};
  return Error{written.error().code,
               "checkpoints cannot be kept in " + storage.root() + ": " + written.error().message +
                   "; give a directory that all nodes can write (--checkpoint-dir)"};
}

}  // namespace weir
