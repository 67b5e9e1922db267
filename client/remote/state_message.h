// Converts the states of a capture from messages. Pure functions.
#pragma once

#include "client/remote/remote_capture.h"
#include "ptraceprof/v1/capture.pb.h"

namespace ptrace_prof {

// kPending for an unknown state.
RemoteState StateOf(ptraceprof::v1::State message);

}  // namespace ptrace_prof
