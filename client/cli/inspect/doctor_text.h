// What `ptrace-prof doctor` prints: a group for the node and one for the process, a line per check, the remedy below.
#pragma once

#include <string>

#include "client/cli/inspect/inspection.h"

namespace ptrace_prof {

std::string DoctorText(const Inspection& inspection, Pid pid);

}  // namespace ptrace_prof
