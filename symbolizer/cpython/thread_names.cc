#include "symbolizer/cpython/thread_names.h"

#include <optional>

#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNamedThreads = 65536;
constexpr size_t kMaxName = 256;

}  // namespace

std::unordered_map<uint64_t, std::string> ReadThreadNames(RemoteMemory& memory, const Layout& layout,
                                                          RemoteAddr interpreter) {
  std::unordered_map<uint64_t, std::string> names;
  ObjectReader reader(memory, layout);
  const auto threading = FindModule(memory, layout, interpreter, "threading");
  const auto active = threading ? FindAttribute(reader, *threading, "_active") : std::nullopt;
  if (!active) {
    return names;
  }
  reader.VisitDict(*active, kMaxNamedThreads, [&](RemoteAddr ident, RemoteAddr thread) {
    const auto number = reader.ReadInt(ident);
    const auto name = number ? FindAttribute(reader, thread, "_name") : std::nullopt;
    const auto text = name ? reader.ReadString(*name, kMaxName) : std::nullopt;
    if (text) {
      names[static_cast<uint64_t>(*number)] = *text;
    }
    return true;
  });
  return names;
}

}  // namespace ptrace_prof
