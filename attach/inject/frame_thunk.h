// Machine code that stands in once for a function of the interpreter. It restores the address of the original function,
// makes one call, and continues in the original as if nothing had happened.
//
// Pure data; a file per architecture. The code runs in a thread of the target, at a call, with the GIL held (the
// versions that use it have one), and changes nothing that a call may not change. The first thread that arrives makes
// the call. Threads that were already on their way go straight on. So do threads that carry an exception, and frames of
// generators and coroutines: an exception raised there would miss the frames that they wait for, and up to 3.10 only
// the original keeps two threads out of one generator. An exception of the call is passed to the original, which begins
// as for generator.throw(): it is raised where the job was.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class ThunkState : uint32_t { kWaiting = 0, kCalling = 1, kDone = 2 };

// In the target's data; the instructions contain these offsets.
struct ThunkContext {
  uint64_t slot = 0;      // where the address of `thunk` is, and that of `original` was
  uint64_t original = 0;  // may be null
  uint64_t function = 0;  // int(void*)
  uint64_t argument = 0;
  uint64_t thunk = 0;
  uint32_t state = 0;   // ThunkState
  uint32_t raises = 0;  // all bits: pass on an exception of the call to the original; 0: do not
};
static_assert(sizeof(ThunkContext) == 48);

inline constexpr size_t kMaxThunkBytes = 128;

// The arguments of the interpreter's function that the instructions test.
struct FrameArguments {
  uint8_t throw_argument = 2;  // index (from 0) of the argument that says that an exception is active; the frame is the
                               // argument before it
  uint32_t generator = 0;      // offset in a frame of a pointer that is null except in frames of generators,
  bool generator_is_owner = false;  // or of a byte that is 1 in those
};

// `goes_on`: the interpreter's own function. Returns an empty vector on an unsupported architecture.
std::vector<uint8_t> MakeFrameThunk(RemoteAddr context, RemoteAddr goes_on, const FrameArguments& arguments);

}  // namespace ptrace_prof
