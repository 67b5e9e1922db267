// The traits of a target's Python version, as bits for the stubs (pp_python_trait).
#pragma once

#include <cstdint>

#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

uint32_t PythonTraits(const Layout& layout);

}  // namespace ptrace_prof
