// Where functions and objects of an interpreter are in its process, by their names.
//
// Taken from the dynamic symbols of the image that holds the interpreter, and from the .symtab of its file where a name
// is not there. The executable goes first: a program that mentions an object of its library may hold a copy of it,
// and then that copy is the one in use. Reads the target without stopping it; stateless.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// One address for each name, null where there is none. kGone, kPermissionDenied.
Result<std::vector<RemoteAddr>> FindInterpreterSymbols(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                                       std::span<const std::string_view> names);

}  // namespace ptrace_prof
