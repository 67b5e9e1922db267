// The tracer stub as a file: the bytes of the shared object that attach/intarget is built into, which our program
// carries.
//
// Constant data; any thread. It knows nothing of how the stub gets into a target: whoever does that copies the bytes,
// fills in the boot block that FindBootBlock finds, and writes them to a memfd there. In a target that holds the stub
// already, the same block is found in its writable mapping by the same magic words.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ptrace_prof {

std::span<const std::byte> StubImage();
// The name of the module for the spec given to _imp.create_dynamic: its init function is PyInit_<name>.
inline constexpr std::string_view kStubModule = "_ptrace_prof_stub";

}  // namespace ptrace_prof
