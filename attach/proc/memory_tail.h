// Bytes from an address to the end of its page. Plain data.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

struct MemoryTail {
  RemoteAddr begin;
  uint64_t size = 0;
};

}  // namespace ptrace_prof
