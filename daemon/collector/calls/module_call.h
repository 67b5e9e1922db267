// Finds the code with which PyTorch calls an nn.Module: Module.__call__, which torch.profiler uses, too.
//
// Up to PyTorch 2.0 that is _call_impl, since then _wrapped_call_impl, which calls it; from 2.5 on the first local of
// _call_impl is a cell (torch/nn/modules/module.py).
#pragma once

#include <optional>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// Looks into the target's sys.modules and the class: some thousand reads. Nullopt: no PyTorch (yet), or unexpected
// objects.
std::optional<RemoteAddr> FindModuleCall(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter);

}  // namespace ptrace_prof
