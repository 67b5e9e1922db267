#include "symbolizer/cpython/interpreter_start.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

// In import order, which is the same in all versions; the last one comes with the standard streams.
constexpr std::string_view kModules[] = {"posix", "__main__"};
constexpr size_t kMaxModules = 65536;
constexpr size_t kMaxKey = 16;  // longer than any of them

}  // namespace

bool HasStarted(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter) {
  if (!layout.Has(&Layout::interp_modules)) {
    return true;
  }
  uint64_t modules = 0;
  if (memory.ReadValue(interpreter + layout.interp_modules, &modules) != ReadStatus::kOk || modules == 0) {
    return false;
  }
  size_t found = 0;
  ObjectReader reader(memory, layout);
  reader.VisitDict(RemoteAddr(modules), kMaxModules, [&](RemoteAddr key, RemoteAddr) {
    const auto name = reader.ReadString(key, kMaxKey);
    found += name && std::ranges::find(kModules, *name) != std::end(kModules) ? 1 : 0;
    return found < std::size(kModules);
  });
  return found == std::size(kModules);
}

}  // namespace ptrace_prof
