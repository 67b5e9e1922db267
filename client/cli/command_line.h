// The whole command line: parses it, runs the one command it names, returns the exit status.
#pragma once

#include "client/remote/capture_backend.h"

namespace ptrace_prof {

int RunCommandLine(int argc, char** argv, CaptureBackend& backend);

}  // namespace ptrace_prof
