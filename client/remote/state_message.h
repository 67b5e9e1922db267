// The states of a capture: between messages and what the terminal shows. Pure functions.
#pragma once

#include "client/remote/remote_capture.h"
#include "ptraceprof/v1/capture.pb.h"

namespace ptrace_prof {

// kPending for one that is not known here.
RemoteState StateOf(ptraceprof::v1::State message);

}  // namespace ptrace_prof
