#include "daemon/server/captures/random_id.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

std::string RandomId() {
  uint64_t random[2] = {};
  if (::getrandom(random, sizeof random, 0) != sizeof random) {
    random[0] = static_cast<uint64_t>(MonotonicNow().value);
  }
  return fmt::format("{:016x}{:016x}", random[0], random[1]).substr(0, 20);
}

}  // namespace ptrace_prof
