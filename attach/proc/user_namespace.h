// What numbers of users mean here: in the user namespace of this process. Stateless.
#pragma once

#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

// Nothing: the kernel does not tell, or there is no /proc.
std::optional<bool> InOurUserNamespace(Pid pid);
// As which user the kernel shows those who have no number in our user namespace.
Uid OverflowUid();

}  // namespace ptrace_prof
