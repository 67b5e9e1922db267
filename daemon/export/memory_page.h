// The memory timeline as a page: an area for each category, and what was allocated at the peak. Needs no network and no
// script.
#pragma once

#include <string>
#include <vector>

#include "daemon/export/memory_curve.h"
#include "daemon/export/memory_peak.h"
#include "daemon/export/output.h"

namespace ptrace_prof {

struct MemoryPage {
  std::string title;
  TorchDevice device;
  const std::vector<MemoryPoint>& curve;
  const MemoryPeak& peak;
  Nanos begin;
  Nanos end;
  std::vector<std::string> notes;  // sentences on what is not known
};

void WriteMemoryPage(const MemoryPage& page, Output& out);

}  // namespace ptrace_prof
