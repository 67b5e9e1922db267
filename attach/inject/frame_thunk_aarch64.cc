#include "attach/inject/frame_thunk.h"

namespace ptrace_prof {

std::vector<uint8_t> MakeFrameThunk(RemoteAddr, RemoteAddr, uint8_t) { return {}; }

}  // namespace ptrace_prof
