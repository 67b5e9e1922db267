// Imports _Py_DebugOffsets, CPython's description of its own structures at the start of _PyRuntime, from 3.13 on.
// (CPython: Include/internal/pycore_debug_offsets.h; its groups differ per minor.)
//
// The bytes come from the target: cookie, version, sizes and every offset are checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/base/result.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

inline constexpr size_t kDebugOffsetsMaxSize = 4096;  // read this much at _PyRuntime (less if it ends earlier)

// kNotFound: no cookie (3.12 or older). kUnimplemented: a minor, or a prerelease of one, that we do not know; the
// message names it. kDataLoss: the contents are inconsistent.
Result<Layout> ImportDebugOffsets(std::span<const std::byte> bytes);

}  // namespace ptrace_prof
