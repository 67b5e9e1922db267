// Decides how long to wait for a target that does not let a tracer in, and finds out why.
//
// A tracer enters when the main interpreter runs Python. Looks at the holders of the GILs, without a stop. If for
// kPatience only threads of a subinterpreter hold one, none of the main interpreter will come. Up to CPython 3.11 the
// same holds if the main thread waits and another one runs a loop without calls of Python functions. A duration of
// kPatience or more counts from the request, a shorter one from the entry, which may take kPatience. Owned by the
// capture; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "rpc/messages/capture_task.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

class EntryWait {
 public:
  static constexpr Nanos kPatience = Nanos::FromSeconds(2);

  // All must outlive it. `asked_at`: time of the request.
  EntryWait(const CaptureTask& request, RemoteMemory& memory, const PythonProcess& python, Nanos asked_at);

  // Call every few milliseconds until the tracer is in. False: waiting on is useless, see error().
  bool Look(Nanos now);
  const std::optional<Error>& error() const { return error_; }

 private:
  enum class Runner : uint8_t { kNobody, kMainThread, kOtherThread, kSubinterpreter };

  Runner WhoRuns();
  void Judge(Nanos now);

  const CaptureTask& request_;
  RemoteMemory& memory_;
  const PythonProcess& python_;
  const Nanos asked_at_;
  const Nanos begin_;
  Nanos next_;
  uint32_t seen_[4] = {};  // looks, by Runner
  std::optional<Error> error_;
};

}  // namespace ptrace_prof
