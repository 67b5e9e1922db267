// Where PyTorch calls an nn.Module: the code of Module.__call__, which is what torch.profiler goes by, too.
//
// Up to PyTorch 2.0 that is _call_impl, since then _wrapped_call_impl, which calls it; from 2.5 on the first local of
// _call_impl is a cell (torch/nn/modules/module.py).
#pragma once

#include <optional>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// Looked up in the target's sys.modules and in the class: some thousand reads. Nothing: it has no PyTorch (yet), or
// what is there is not what it seems.
std::optional<RemoteAddr> FindModuleCall(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter);

}  // namespace ptrace_prof
