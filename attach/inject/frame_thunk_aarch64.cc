#include "attach/inject/frame_thunk.h"

namespace ptrace_prof {

std::vector<uint8_t> MakeFrameThunk(RemoteAddr, RemoteAddr, const FrameArguments&) { return {}; }

}  // namespace ptrace_prof
