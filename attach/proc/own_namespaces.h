// Which processes are in the namespaces of this process, so that numbers of users and processes have the same meaning.
// Stateless.
#pragma once

#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

// nullopt: the kernel does not say, or there is no /proc.
std::optional<bool> InOurUserNamespace(Pid pid);
std::optional<bool> InOurPidNamespace(Pid pid);
// The user that the kernel shows for users without a number in our user namespace.
Uid OverflowUid();

}  // namespace ptrace_prof
