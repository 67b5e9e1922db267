// The table of `ptrace-prof ps`: a line per process, and a second one below it where something stands in the way.
#pragma once

#include <span>
#include <string>

#include "client/cli/user_names.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

// `columns`: the width of the terminal, to which commands are cut; 0: they are not.
std::string PsTable(std::span<const ProcessEntry> entries, UserNames& users, size_t columns);

// The command line in one line, as a person would type it without quotes; "[name]" where there is none.
std::string CommandText(const ProcessEntry& entry);

}  // namespace ptrace_prof
