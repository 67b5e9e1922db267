// Keeps gRPC initialised while no client is connected, by keeping a server that no client can reach.
//
// gRPC shuts down with its last server or channel, and no new one can be made until that is done. The shutdown waits
// for polling threads, up to ten seconds (seen with Debian's 1.51.1), so a client that came just then got no answer in
// time. gRPC then creates its threads anew. If that fails, it never tries again, and no client is ever answered.
#pragma once

namespace ptrace_prof {

// Holds from now until the process ends. May be called more than once, on any thread.
void HoldLibrary();

}  // namespace ptrace_prof
