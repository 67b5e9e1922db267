#include "daemon/collector/inspect/torch_profiler.h"

#include <fmt/format.h>

#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {

bool RunsTorchProfiler(RemoteMemory& memory, const PythonProcess& python) {
  const auto main = FindMainInterpreter(memory, python.layout, python.runtime);
  if (!main) {
    return false;
  }
  ObjectReader reader(memory, python.layout);
  const auto module = FindModule(memory, python.layout, *main, "torch.autograd.profiler");
  const auto note = module ? FindAttribute(reader, *module, "_is_profiler_enabled") : std::nullopt;
  return note && reader.ReadTypeName(*note) == "bool" && reader.ReadInt(*note).value_or(0) != 0;
}

Result<void> CheckTorchProfiler(Pid pid, RemoteMemory& memory, const PythonProcess& python) {
  if (!RunsTorchProfiler(memory, python)) {
    return {};
  }
  return Because(Reason::kConflictSubscriber,
                 fmt::format("PyTorch's profiler runs in process {}, and CUPTI serves one tool at a time: that "
                             "profiler would lose its records",
                             pid.value),
                 "Wait until it has ended, or insist with --force.", ThingOf(pid));
}

}  // namespace ptrace_prof
