#include "daemon/collector/calls/module_call.h"

#include "symbolizer/cpython/named_items.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxMembers = 4096;       // of a class
constexpr uint32_t kDictBehindFlags = 96;  // PyTypeObject: tp_flags, tp_dict (Include/cpython/object.h)

std::optional<RemoteAddr> PointerAt(RemoteMemory& memory, RemoteAddr at) {
  RemoteAddr value;
  return memory.ReadValue(at, &value.value) == ReadStatus::kOk && !value.IsNull() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<RemoteAddr> FindModuleCall(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter) {
  ObjectReader reader(memory, layout);
  const auto module = FindModule(memory, layout, interpreter, "torch.nn.modules.module");
  const auto type = module ? FindAttribute(reader, *module, "Module") : std::nullopt;
  const auto members = type ? PointerAt(memory, *type + layout.type_flags + kDictBehindFlags) : std::nullopt;
  const auto call = members ? FindItem(reader, *members, "__call__", kMaxMembers) : std::nullopt;
  if (!call || reader.ReadTypeName(*call) != "function") {
    return std::nullopt;
  }
  const auto code = PointerAt(memory, *call + layout.var_size + FactsOf(layout.version).function_code);
  return code && reader.ReadTypeName(*code) == "code" ? code : std::nullopt;
}

}  // namespace ptrace_prof
