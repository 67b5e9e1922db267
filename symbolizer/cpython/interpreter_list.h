// The interpreters of a process and the thread states of each, as linked lists in the target say.
//
// Both lists change under a lock that we do not hold: walks are bounded, must advance, and each thread state must name
// the interpreter in whose list it stands. Costs one read per entry: call at attach and when something changed.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

inline constexpr int64_t kMainInterpreter = 0;  // its id

struct InterpreterEntry {
  RemoteAddr address;
  int64_t id = 0;
  RemoteAddr gil;  // its _gil_runtime_state; null when there is none
};

// CPython, pycore_gil.h: what `enabled` is where a free-threaded build has its GIL for good, as after an import of a
// module that needs it; less is how many such modules are being loaded just now.
inline constexpr int32_t kGilForGood = INT32_MAX;

struct ThreadEntry {
  RemoteAddr state;
  uint64_t ident = 0;      // pthread_t
  uint64_t native_id = 0;  // tid in the target's PID namespace; 0 when the layout has none
  bool has_frames = true;  // it runs Python

  // A state's address alone may be another thread's by now.
  bool IsSameThread(const ThreadEntry& other) const {
    return state == other.state && ident == other.ident && native_id == other.native_id;
  }
};

// Newest first, as CPython links them. kGone/kFault/kDenied: nothing usable was read.
ReadStatus ReadInterpreters(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime,
                            std::vector<InterpreterEntry>* out);

// No thread takes it: so it is in free-threaded builds, mostly. False where it cannot be read.
bool IsGilOff(RemoteMemory& memory, const Layout& layout, RemoteAddr gil);

enum class ThreadList : uint8_t { kMayChange, kStandsStill };

// Appends, newest first. `complete` is false when the walk met something odd (the list changed under us). One that
// stands still is gone through to its end even where a stopped thread is just about to change it.
ReadStatus ReadThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                       std::vector<ThreadEntry>* out, bool* complete, ThreadList list = ThreadList::kMayChange);

// Whether the list is what a complete walk said: by one batch, which costs a tenth of a walk. False too where
// it cannot be read.
bool AreStillThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                     const std::vector<ThreadEntry>& newest_first);

}  // namespace ptrace_prof
