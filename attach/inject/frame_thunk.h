// The instructions that stand in for a function of the interpreter once: they put the original back where its address
// was taken from, make one call, and go on in the original as if they had not been there.
//
// Pure data; a file per architecture. They run in a thread of the target, at a call, with its lock held (there is one
// in the versions that this is for), and change nothing that a call may not change. The first one to come makes the
// call; those that were on their way here go straight on, as do those that carry an exception, and frames of generators
// and coroutines: what is raised there would miss those that they wait for, and up to 3.10 nothing but the original
// keeps two threads out of one generator. An exception of the call
// is handed to the original, which begins as it does for generator.throw(): it is raised where the job was.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

enum class ThunkState : uint32_t { kWaiting = 0, kCalling = 1, kDone = 2 };

// In the target's data; the instructions know the offsets.
struct ThunkContext {
  uint64_t slot = 0;      // where the address of `thunk` is, and `original` was
  uint64_t original = 0;  // may be null
  uint64_t function = 0;  // int(void*)
  uint64_t argument = 0;
  uint64_t thunk = 0;
  uint32_t state = 0;  // ThunkState
  uint32_t raises =
      0;  // all bits: the call may fail with an exception set, with which the original then begins; or none
};
static_assert(sizeof(ThunkContext) == 48);

inline constexpr size_t kMaxThunkBytes = 128;

// How the interpreter's function is told what to evaluate.
struct FrameArguments {
  uint8_t throw_argument = 2;  // which argument (from 0) says that an exception is on its way; before it, the frame
  uint32_t generator = 0;      // where a frame has a pointer that is null but in those of generators,
  bool generator_is_owner = false;  // or a byte that is 1 in those
};

// `goes_on`: the interpreter's own function. Empty: not known for this machine.
std::vector<uint8_t> MakeFrameThunk(RemoteAddr context, RemoteAddr goes_on, const FrameArguments& arguments);

}  // namespace ptrace_prof
