#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxItemModules = 65536;
constexpr size_t kMaxAttributes = 1024;
constexpr size_t kMaxItemName = 64;

// `visit` is a call of one of the Visit functions.
template <typename Visit>
std::optional<RemoteAddr> Lookup(ObjectReader& reader, std::string_view wanted, const Visit& visit) {
  std::optional<RemoteAddr> found;
  visit([&](RemoteAddr key, RemoteAddr value) {
    if (reader.ReadString(key, kMaxItemName) == wanted) {
      found = value;
    }
    return !found.has_value();
  });
  return found;
}

}  // namespace

std::optional<RemoteAddr> FindItem(ObjectReader& reader, RemoteAddr dict, std::string_view name, size_t max_items) {
  return Lookup(reader, name, [&](const auto& visitor) { reader.VisitDict(dict, max_items, visitor); });
}

std::optional<RemoteAddr> FindAttribute(ObjectReader& reader, RemoteAddr object, std::string_view name) {
  return Lookup(reader, name, [&](const auto& visitor) { reader.VisitAttributes(object, kMaxAttributes, visitor); });
}

std::optional<RemoteAddr> FindModule(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                                     std::string_view name) {
  RemoteAddr modules;
  if (memory.ReadValue(interpreter + layout.interp_modules, &modules.value) != ReadStatus::kOk || modules.IsNull()) {
    return std::nullopt;
  }
  ObjectReader reader(memory, layout);
  return FindItem(reader, modules, name, kMaxItemModules);
}

}  // namespace ptrace_prof
