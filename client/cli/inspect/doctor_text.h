// The output of `ptrace-prof doctor`: a group for the node and one for the process, one line per check, remedies below.
#pragma once

#include <string>

#include "client/cli/inspect/inspection.h"

namespace ptrace_prof {

std::string DoctorText(const Inspection& inspection, Pid pid);

}  // namespace ptrace_prof
