// The composition root of the command: a CaptureBackend that starts the collector itself, with the rights of our user,
// and the collector's program inside our own executable.
#pragma once

#include <memory>
#include <optional>

#include "client/remote/capture_backend.h"

namespace ptrace_prof {

std::unique_ptr<CaptureBackend> MakeEmbeddedBackend();

// If we were started as a collector (hidden first argument): runs it and returns its exit status.
std::optional<int> RunAsCollector(int argc, char** argv);

}  // namespace ptrace_prof
