// The output of `ptrace-prof ps --json` and `doctor --json`; docs/cli.md has the fields. All text is made printable.
#pragma once

#include <span>
#include <string>

#include "client/cli/inspect/inspection.h"
#include "client/cli/user_names.h"

namespace ptrace_prof {

std::string PsJson(std::span<const ProcessEntry> entries, UserNames& users);
std::string DoctorJson(const Inspection& inspection, Pid pid);

}  // namespace ptrace_prof
