// Where an interpreter keeps its pending calls (Py_AddPendingCall and its kin), as a plain CallQueue.
//
// 3.8–3.11 have one queue, which only the main thread looks at; from 3.12 on each interpreter has one of its own, which
// any of its threads looks at, besides that of the main thread. No version describes them, so the offsets are ours
// (version_table.cc, relative to what is known for certain), and nothing is believed that the live process does
// not bear out: the lock, the ends of the ring, the counts, the functions that wait or waited, and the neighbours.
// Reads the target without stopping it, and takes a second look where a first one may have met a change.
#pragma once

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

enum class CallRunner : uint8_t {
  kAnyThread,   // of the interpreter; 3.12+
  kMainThread,  // of the process
};

struct PendingCalls {
  CallQueue queue;
  CallRunner runner = CallRunner::kAnyThread;
  RemoteAddr eval_frame;  // where the function is that evaluates frames (PEP 523); null: not known
};

// The queue that is served soonest: that of any thread where the version has one.
// kUnknownQueueLayout: no offsets for this version or build, or what is there is not such a queue. kGone and so on.
Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter);
// That of one kind. kUnknownQueueLayout also where the version has none of that kind.
Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter, CallRunner runner);

}  // namespace ptrace_prof
