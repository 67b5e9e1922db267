// Any bytes as /proc/<pid>/maps: regions must be well-formed, and no more of them than lines.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "attach/proc/maps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t malformed = 0;
  const auto regions = ptrace_prof::ParseMaps(text, &malformed);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (regions.size() + malformed > lines) {
    std::abort();
  }
  for (const ptrace_prof::MemoryRegion& region : regions) {
    if (region.end <= region.start || region.path.size() > size) {
      std::abort();
    }
  }
  return 0;
}
