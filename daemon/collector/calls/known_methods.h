// Finds the methods of PyTorch whose calls have a special meaning and whose first local is wanted (landmarks.h), before
// the first of these calls.
//
// nn.Modules are called by Module.__call__, as torch.profiler sees it. Up to PyTorch 2.0 that is _call_impl, since then
// _wrapped_call_impl, which calls it; from 2.5 on the first local of _call_impl is a cell (torch/nn/modules/module.py).
// Each step of an optimizer calls Optimizer._optimizer_step_code, which does nothing (torch/optim/optimizer.py); of the
// wrappers of step() that PyTorch makes, the first local is a tuple.
#pragma once

#include <functional>

#include "attach/proc/remote_memory.h"
#include "daemon/collector/calls/landmarks.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

// Looks into the target's sys.modules and the classes: some thousand reads. Reports none without PyTorch, or if objects
// are not as expected.
void FindKnownMethods(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                      const std::function<void(Landmark, RemoteAddr code)>& found);

}  // namespace ptrace_prof
