// The user and the resources of a call that sends data, and its chunk size. Plain data; what it refers to outlives the
// call.
#pragma once

#include <cstdint>

#include "daemon/server/captures/start_pool.h"
#include "daemon/server/captures/unsent_bytes.h"

namespace ptrace_prof {

struct Reader {
  uint32_t user = 0;
  UnsentBytes& unsent;
  StartPool& pool;
  uint32_t chunk_size = 0;
};

}  // namespace ptrace_prof
