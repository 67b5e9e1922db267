#include "symbolizer/cpython/thread_names.h"

#include <optional>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxModules = 65536;
constexpr size_t kMaxThreads = 65536;
constexpr size_t kMaxAttributes = 1024;
constexpr size_t kMaxKey = 64;  // longer than any key that is looked for
constexpr size_t kMaxName = 256;

// The value of a str key, by one of the Visit functions.
template <typename Visit>
std::optional<RemoteAddr> Lookup(ObjectReader& reader, std::string_view wanted, const Visit& visit) {
  std::optional<RemoteAddr> found;
  visit([&](RemoteAddr key, RemoteAddr value) {
    if (reader.ReadString(key, kMaxKey) == wanted) {
      found = value;
    }
    return !found.has_value();
  });
  return found;
}

std::optional<RemoteAddr> Item(ObjectReader& reader, RemoteAddr dict, std::string_view key, size_t limit) {
  return Lookup(reader, key, [&](const auto& visitor) { reader.VisitDict(dict, limit, visitor); });
}

std::optional<RemoteAddr> Attribute(ObjectReader& reader, RemoteAddr object, std::string_view name) {
  return Lookup(reader, name, [&](const auto& visitor) { reader.VisitAttributes(object, kMaxAttributes, visitor); });
}

}  // namespace

std::unordered_map<uint64_t, std::string> ReadThreadNames(RemoteMemory& memory, const Layout& layout,
                                                          RemoteAddr interpreter) {
  std::unordered_map<uint64_t, std::string> names;
  ObjectReader reader(memory, layout);
  uint64_t modules = 0;
  if (memory.ReadValue(interpreter + layout.interp_modules, &modules) != ReadStatus::kOk || modules == 0) {
    return names;
  }
  const auto threading = Item(reader, RemoteAddr(modules), "threading", kMaxModules);
  const auto active = threading ? Attribute(reader, *threading, "_active") : std::nullopt;
  if (!active) {
    return names;
  }
  reader.VisitDict(*active, kMaxThreads, [&](RemoteAddr ident, RemoteAddr thread) {
    const auto number = reader.ReadInt(ident);
    const auto name = number ? Attribute(reader, thread, "_name") : std::nullopt;
    const auto text = name ? reader.ReadString(*name, kMaxName) : std::nullopt;
    if (text) {
      names[static_cast<uint64_t>(*number)] = *text;
    }
    return true;
  });
  return names;
}

}  // namespace ptrace_prof
