// Finds the models and the optimizers of a running job: those that its frames, and the objects there, lead to.
//
//   frames of all threads, __main__ ──► local variables ──► attributes, items ──► … ──► nn.Module, Optimizer
//
// Reads without a stop, within limits of depth, number and time; everything is untrusted. Plain function.
#pragma once

#include <span>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/torch/torch_classes.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct TorchObjects {
  std::vector<RemoteAddr> modules;     // also inner ones, if they were met
  std::vector<RemoteAddr> optimizers;  // those that have param_groups of their own
};

// Where the search begins.
struct SearchStart {
  RemoteAddr state;  // a PyThreadState
  RemoteAddr interpreter;
};

TorchObjects FindTorchObjects(RemoteMemory& memory, const Layout& layout, TorchClasses& classes,
                              std::span<const SearchStart> threads, Nanos deadline);

}  // namespace ptrace_prof
