// Finds an interpreter's queue of pending calls (Py_AddPendingCall and similar), as a plain CallQueue.
//
// 3.8–3.11 have one queue, which only the main thread checks. From 3.12 on each interpreter has its own queue, which
// any of its threads checks, besides that of the main thread. No version describes them, so the offsets are ours
// (version_table.cc, relative to known fields). They are used only if the live process confirms them: the lock, the
// ends of the ring, the counts, the functions that wait or waited, and the neighbours. Reads the target without
// stopping it, and reads again if a first read may have met a change.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

enum class CallRunner : uint8_t {
  kAnyThread,   // any thread of the interpreter; 3.12+
  kMainThread,  // the main thread of the process
};

struct PendingCalls {
  CallQueue queue;
  CallRunner runner = CallRunner::kAnyThread;
  RemoteAddr eval_frame;  // address of the pointer to the function that evaluates frames (PEP 523); null: unknown
};

// The queue that is served soonest: that of any thread if the version has one. kUnknownQueueLayout: no offsets for this
// version or build, or the memory is not such a queue. kGone and so on.
Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter);
// The queue of one kind. kUnknownQueueLayout also if the version has none of that kind.
Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter, CallRunner runner);

}  // namespace ptrace_prof
