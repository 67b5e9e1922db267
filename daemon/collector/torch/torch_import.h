// How far a process has come with `import torch`, seen from outside and without a stop.
//
// Nothing of PyTorch may be called before its libraries are relocated and their initialisers have run. Python says
// when: the module is in sys.modules from the begin of its import on, and its spec is marked until the import has
// ended.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

enum class TorchImport : uint8_t {
  kNone,      // libtorch_cpu.so is not mapped
  kUnderWay,  // it may be half loaded
  kUnknown,   // it is mapped; Python knows no module `torch`, or that could not be read
  kDone,
};

TorchImport LookAtTorchImport(Pid pid, RemoteMemory& memory, const PythonProcess& python);

}  // namespace ptrace_prof
