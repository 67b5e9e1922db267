#include "daemon/collector/torch/torch_import.h"

#include <optional>

#include "attach/proc/maps.h"
#include "daemon/collector/torch/torch_boot.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

// ModuleSpec._initializing of `torch`; nullopt: not found.
std::optional<bool> IsBeingImported(RemoteMemory& memory, const PythonProcess& python) {
  const auto main = FindMainInterpreter(memory, python.layout, python.runtime);
  if (!main) {
    return std::nullopt;
  }
  ObjectReader reader(memory, python.layout);
  const auto module = FindModule(memory, python.layout, *main, "torch");
  const auto spec = module ? FindAttribute(reader, *module, "__spec__") : std::nullopt;
  const auto mark = spec ? FindAttribute(reader, *spec, "_initializing") : std::nullopt;
  if (!mark || reader.ReadTypeName(*mark) != "bool") {
    return std::nullopt;
  }
  const std::optional<int64_t> is_set = reader.ReadInt(*mark);
  return is_set ? std::optional(*is_set != 0) : std::nullopt;
}

}  // namespace

TorchImport LookAtTorchImport(Pid pid, RemoteMemory& memory, const PythonProcess& python) {
  const auto regions = ReadMaps(pid);
  if (regions.has_error() || !HasTorch(regions.value())) {
    return TorchImport::kNone;
  }
  const std::optional<bool> is_being_imported = IsBeingImported(memory, python);
  return !is_being_imported ? TorchImport::kUnknown : *is_being_imported ? TorchImport::kUnderWay : TorchImport::kDone;
}

}  // namespace ptrace_prof
