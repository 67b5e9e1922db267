// A CPython interpreter found in a live process: the address of _PyRuntime, and its Layout.
//
// Open() checks every ELF that the process maps (executable, libpython, anything that embeds one), in memory first, by
// a list of strategies: dynamic symbol _PyRuntime, .PyRuntime section or .symtab from the file, scan for the "xdebugpy"
// cookie (3.13+), scan for an interpreter/thread-state cycle (3.8–3.12). Each candidate is validated by walking
// interpreter → thread state → interpreter before it is used. About 30 system calls for an ordinary target. Does not
// stop the target. Immutable after Open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct PythonProcess {
  RemoteAddr runtime;  // &_PyRuntime
  Layout layout;
  std::string version_text;  // "3.14.2", "3.14.2 free-threaded"
  std::string binary;        // path of the ELF that contains the interpreter, as in maps
  RemoteAddr code_type;      // &PyCode_Type, null if unknown

  // kFailedPrecondition: not a Python process (the message says what was checked), or its interpreter has not started
  // yet or is shutting down (the message says so). kUnimplemented: a version or flavour that we cannot read (the
  // message names it). kPermissionDenied, kGone as usual.
  static Result<PythonProcess> Open(Pid pid, RemoteMemory& memory);
};

}  // namespace ptrace_prof
