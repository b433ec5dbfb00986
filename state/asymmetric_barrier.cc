#include "state/asymmetric_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"

namespace weir {

namespace {

bool membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool has_asymmetric_barriers() {
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return registered;
}

void heavy_barrier() {
  WEIR_CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace weir
