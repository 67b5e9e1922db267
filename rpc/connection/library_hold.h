// Keeps gRPC set up while nobody is connected.
//
// The library tears itself down when its last server or channel goes, and until that is done nobody can make a new one.
// It waits for threads that poll, which takes up to ten seconds (seen with Debian's 1.51.1): a client that came just
// when the last one had gone was not answered in time. And it makes its threads anew then; where there are none to be
// had, it never tries again, and nobody is answered for good. So a server that no one can reach is kept.
#pragma once

namespace ptrace_prof {

// From now on until the process ends. May be called again, on any thread.
void HoldLibrary();

}  // namespace ptrace_prof
