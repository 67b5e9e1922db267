// The threads of a target that can be asked to run a script: reads and writes those requests.
//
// Call Ask and Clear only while all threads are stopped. Bounded; the memory that it reads is hostile. One thread.
#pragma once

#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/remote_memory.h"
#include "attach/proc/script_requests.h"

namespace ptrace_prof {

struct ScriptRequest {
  bool waits = false;
  std::string path;  // of the last request; empty: there was none
};

class ScriptThreads {
 public:
  ScriptThreads(Pid pid, RemoteMemory& memory, const ScriptRequests& requests)
      : memory_(memory), writer_(pid), requests_(requests) {}

  // All threads; of very many, only the newest ones and the oldest, which is the main thread. kGone: another program.
  Result<std::vector<RemoteAddr>> List();
  // Returns an empty request if the thread's memory cannot be read any more. kGone: the process has ended.
  Result<ScriptRequest> Read(RemoteAddr thread);
  Result<void> Ask(RemoteAddr thread, const std::string& path);
  // Clears the request, and wipes a path of this length.
  Result<void> Clear(RemoteAddr thread, size_t path_size);

 private:
  RemoteMemory& memory_;
  RemoteWriter writer_;
  ScriptRequests requests_;
};

}  // namespace ptrace_prof
