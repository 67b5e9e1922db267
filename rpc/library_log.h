// What gRPC and protobuf have to say, which they write to stderr unless somebody takes it: bytes of a client that are
// no message are one reason.
//
// For the whole process; call it before the first use of gRPC. `take` is called on any thread, and must not use gRPC.
#pragma once

#include <string_view>

namespace ptrace_prof {

using TakeLibraryLog = void (*)(std::string_view library, std::string_view message);

void RedirectLibraryLogs(TakeLibraryLog take);

}  // namespace ptrace_prof
