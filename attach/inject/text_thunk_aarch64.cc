#include "attach/inject/text_thunk.h"

namespace ptrace_prof {

std::span<const uint8_t> TextThunk() { return {}; }

}  // namespace ptrace_prof
