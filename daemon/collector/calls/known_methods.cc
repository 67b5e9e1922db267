#include "daemon/collector/calls/known_methods.h"

#include <optional>
#include <string_view>

#include "symbolizer/cpython/named_items.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

struct KnownMethod {
  Landmark meaning;
  std::string_view module;
  std::string_view type;
  std::string_view name;
};
constexpr KnownMethod kKnown[] = {
    {Landmark::kModuleCall, "torch.nn.modules.module", "Module", "__call__"},
    {Landmark::kOptimizer, "torch.optim.optimizer", "Optimizer", "_optimizer_step_code"},
};

constexpr size_t kMaxMembers = 4096;       // of a class
constexpr uint32_t kDictBehindFlags = 96;  // PyTypeObject: tp_flags, tp_dict (Include/cpython/object.h)

std::optional<RemoteAddr> PointerAt(RemoteMemory& memory, RemoteAddr at) {
  RemoteAddr value;
  return memory.ReadValue(at, &value.value) == ReadStatus::kOk && !value.IsNull() ? std::optional(value) : std::nullopt;
}

std::optional<RemoteAddr> CodeOf(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                                 const KnownMethod& known) {
  ObjectReader reader(memory, layout);
  const auto module = FindModule(memory, layout, interpreter, known.module);
  const auto type = module ? FindAttribute(reader, *module, known.type) : std::nullopt;
  const auto members = type ? PointerAt(memory, *type + layout.type_flags + kDictBehindFlags) : std::nullopt;
  const auto method = members ? FindItem(reader, *members, known.name, kMaxMembers) : std::nullopt;
  if (!method || reader.ReadTypeName(*method) != "function") {
    return std::nullopt;
  }
  const auto code = PointerAt(memory, *method + layout.var_size + FactsOf(layout.version).function_code);
  return code && reader.ReadTypeName(*code) == "code" ? code : std::nullopt;
}

}  // namespace

void FindKnownMethods(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                      const std::function<void(Landmark, RemoteAddr code)>& found) {
  for (const KnownMethod& known : kKnown) {
    if (const auto code = CodeOf(memory, layout, interpreter, known)) {
      found(known.meaning, *code);
    }
  }
}

}  // namespace ptrace_prof
