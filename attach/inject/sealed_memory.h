// What must hold of a memfd that a target made before we map it: it is one, of exactly the size that was asked for, and
// sealed so that it can neither change its size nor be unsealed. Then no access of ours faults, whatever the target
// does.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

inline constexpr int kSealsNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// kUnavailable: not sealed yet. TRACER_LOST: something else.
Result<void> CheckSealedMemory(const UniqueFd& file, uint64_t size);

// TRACER_LOST: what is shared is not what was asked for.
Error NotTheSharedMemory(std::string_view why);
// TRACER_LOST: what is shared says what our side never writes.
Error WrittenOver(std::string message);

}  // namespace ptrace_prof
