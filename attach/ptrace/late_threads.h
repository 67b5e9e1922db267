// The threads that the calling thread still traces although nobody holds them any more.
//
// Two kinds: those that did not stop in time, and those that were killed while they were held. Both must be
// looked at again: a thread that stops at last waits for us, and the end of a dead one is hidden from its process and
// parent until we take note. Each of our threads has its own list, as ptrace(2) has.
#pragma once

#include <cstddef>

#include "attach/base/types.h"

namespace ptrace_prof {

void AddLateThread(Tid tid);
// Gives a thread back to a new holder: true if it was here, still traced and asked to stop.
bool TakeLateThread(Tid tid);
// Lets go of those that can be; the number of the others.
size_t ReleaseLateThreads();

}  // namespace ptrace_prof
