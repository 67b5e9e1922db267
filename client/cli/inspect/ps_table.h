// The table of `ptrace-prof ps`: a line per process, and a second line for an obstacle to profiling it.
#pragma once

#include <span>
#include <string>

#include "client/cli/user_names.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

// `columns`: the width of the terminal, which commands are cut to; 0: no cutting.
std::string PsTable(std::span<const ProcessEntry> entries, UserNames& users, size_t columns);

// The command line as one line, joined without quotes; "[name]" if there is none.
std::string CommandText(const ProcessEntry& entry);

}  // namespace ptrace_prof
