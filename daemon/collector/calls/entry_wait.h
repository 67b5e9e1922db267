// Why a target does not let a tracer in, while it is waited for: what is there to be waited for, and until when.
//
// A tracer comes in where the main interpreter runs Python. Looks at who holds which GIL, without a stop: if for
// kPatience it is only ever a thread of a subinterpreter, nobody of the main one will come; nor up to CPython 3.11,
// where its main thread waits and another one runs a loop in which no Python function is called. A duration of
// kPatience and more counts from the request; a shorter one from when we are in, which may take kPatience. Owned by the
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

  // All must outlive it. `asked_at`: when the capture was asked for.
  EntryWait(const CaptureTask& request, RemoteMemory& memory, const PythonProcess& python, Nanos asked_at);

  // Call every few milliseconds while nobody lets us in. False: it makes no sense to wait on, see error().
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
