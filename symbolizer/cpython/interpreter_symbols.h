// Finds the addresses of an interpreter's functions and objects in its process, by name.
//
// Uses the dynamic symbols of the image that contains the interpreter, and the .symtab of its file for names missing
// there. The executable comes first: a program that refers to an object of its library may hold a copy of it, and then
// that copy is the one in use. Reads the target without stopping it; stateless.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

// One address for each name, null if not found. kGone, kPermissionDenied.
Result<std::vector<RemoteAddr>> FindInterpreterSymbols(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                                       std::span<const std::string_view> names);

}  // namespace ptrace_prof
