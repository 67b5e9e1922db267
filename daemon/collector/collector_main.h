// The collector's program: what runs after "ptrace-prof __collector STREAM_FD CONTROL_FD task=… [-- command…]".
//
// Defined in the composition root daemon/collector/collector_main.cc. Launches the command if there is one, gives up
// rights, runs the capture, writes the trace to STREAM_FD. What went wrong is in the trace's EndInfo; the exit status
// says only whether that could be written.
#pragma once

namespace ptrace_prof {

int CollectorMain(int argc, char** argv);

}  // namespace ptrace_prof
