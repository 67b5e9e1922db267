// The memory of PyTorch as a picture: an area for each category, and what was allocated at the peak.
//
// Needs no network and no script. Plain functions.
#pragma once

#include <string>

#include "daemon/export/memory_report.h"
#include "daemon/export/output.h"

namespace ptrace_prof {

void WriteMemoryPage(const std::string& title, const MemoryReport& report, Output& out);
// As a part of another page, whose style sheet has colours (--ink, --dim, --line, --bg).
void WriteMemorySection(const MemoryReport& report, Output& out);

}  // namespace ptrace_prof
