// Who is in the namespaces of this process, in which the numbers of users and processes mean what they mean here.
// Stateless.
#pragma once

#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

// Nothing: the kernel does not tell, or there is no /proc.
std::optional<bool> InOurUserNamespace(Pid pid);
std::optional<bool> InOurPidNamespace(Pid pid);
// As which user the kernel shows those who have no number in our user namespace.
Uid OverflowUid();

}  // namespace ptrace_prof
