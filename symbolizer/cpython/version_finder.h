// The version of a CPython that does not describe itself (3.12 and older), from the target's memory.
//
// Sources, in this order: the constant Py_Version (3.11+), the text that becomes sys.version, the file name. The
// target's binary is never executed.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

std::optional<PythonVersion> FindVersion(RemoteMemory& memory, const ElfImage& image, std::string_view path);

// "3.8.18 (default, …" at the beginning of `text`: the form of sys.version.
std::optional<PythonVersion> ParseVersionText(std::string_view text);
// "libpython3.8.so.1.0", "/usr/bin/python3.8": only major and minor.
std::optional<PythonVersion> ParseVersionInName(std::string_view path);

}  // namespace ptrace_prof
