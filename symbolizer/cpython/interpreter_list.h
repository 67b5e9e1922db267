// The interpreters of a process and the thread states of each, from linked lists in the target.
//
// Both lists change under a lock that we do not hold. So walks are bounded and must advance, and each thread state must
// name the interpreter of its list. Costs one read per entry: call it at attach and when something changed.
#pragma once

#include <cstdint>
#include <optional>
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

// CPython, pycore_gil.h: the value of `enabled` if a free-threaded build has its GIL for good, for example after
// importing a module that needs it. A smaller value is the number of such modules being loaded now.
inline constexpr int32_t kGilForGood = INT32_MAX;

struct ThreadEntry {
  RemoteAddr state;
  uint64_t ident = 0;      // pthread_t
  uint64_t native_id = 0;  // tid in the target's PID namespace; 0 if the layout has none
  bool has_frames = true;  // it runs Python

  // Compares more than the address, which may belong to another thread by now.
  bool IsSameThread(const ThreadEntry& other) const {
    return state == other.state && ident == other.ident && native_id == other.native_id;
  }
};

// Newest first, as CPython links them. kGone/kFault/kDenied: no entry could be read.
ReadStatus ReadInterpreters(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime,
                            std::vector<InterpreterEntry>* out);

// True if threads do not take the GIL, which is the usual state of free-threaded builds. False if it cannot be read.
bool IsGilOff(RemoteMemory& memory, const Layout& layout, RemoteAddr gil);

// The address of the one with id kMainInterpreter. Nullopt: the list cannot be read, or it is not in it.
std::optional<RemoteAddr> FindMainInterpreter(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime);

enum class ThreadList : uint8_t { kMayChange, kStandsStill };

// Appends, newest first. `complete` is false if the walk found an inconsistency (the list changed meanwhile). With
// kStandsStill the walk continues to the end of the list even if a stopped thread is in the middle of changing it.
ReadStatus ReadThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                       std::vector<ThreadEntry>* out, bool* complete, ThreadList list = ThreadList::kMayChange);

// Whether the list still equals that of a complete walk. Uses one batch, which costs a tenth of a walk. Also false if
// it cannot be read.
bool AreStillThreads(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter,
                     const std::vector<ThreadEntry>& newest_first);

}  // namespace ptrace_prof
