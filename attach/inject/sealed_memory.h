// The conditions that a target's memfd must meet before we map it: it is a memfd of exactly the requested size, sealed
// so that it can neither change its size nor be unsealed. Then our accesses never fault, whatever the target does.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

inline constexpr int kSealsNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// kUnavailable: not sealed yet. TRACER_LOST: another fault.
Result<void> CheckSealedMemory(const UniqueFd& file, uint64_t size);

// TRACER_LOST: the shared memory is not the requested one.
Error NotTheSharedMemory(std::string_view why);
// TRACER_LOST: the shared memory contains values that our side never writes.
Error WrittenOver(std::string message);

}  // namespace ptrace_prof
