// Redirects the log lines of gRPC and protobuf, which otherwise go to stderr. One cause of such lines is a client whose
// bytes are not a valid message.
//
// Applies to the whole process; call it before the first use of gRPC. `take` is called on any thread and must not use
// gRPC.
#pragma once

#include <string_view>

namespace ptrace_prof {

using TakeLibraryLog = void (*)(std::string_view library, std::string_view message);

void RedirectLibraryLogs(TakeLibraryLog take);

}  // namespace ptrace_prof
