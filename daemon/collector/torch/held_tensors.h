// Lists the tensors that a job's models and optimizers hold: parameters, buffers, gradients, optimizer state.
//
// Names are those of named_parameters() in the outermost module that was found. Reads without a stop; everything is
// untrusted. Plain function.
#pragma once

#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/torch/torch_classes.h"
#include "daemon/collector/torch/torch_objects.h"
#include "daemon/trace/held_tensor.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct HeldTensorsRequest {
  Pid pid;  // goes into the results
  const TorchObjects& objects;
  bool has_old_strings = false;  // PyTorch was built with the C++ ABI before GCC 5's
  Nanos deadline;
};

// Empty: there are none, or their layout is not known. Those that have no memory are left out.
std::vector<HeldTensor> ListHeldTensors(RemoteMemory& memory, const Layout& layout, TorchClasses& classes,
                                        const HeldTensorsRequest& request);

}  // namespace ptrace_prof
