// One call in the queue of a target: put there under a brief stop of all threads, until one of them has taken it out.
//
//   Put ──► waiting ──► taken (by a thread of the target; its effect is observed elsewhere)
//              └──────► taken back (Withdraw, or the end of this object), as if it had never been there;
//                       left, if other calls are queued behind it: its argument is cleared, so that it does
//                       nothing
//
// The queue is written back in one piece (remote_writer.h), so it is consistent at whatever moment we are killed, with
// or without the call. Nothing is written unless the lock is free, the queue is consistent and not full, and the guard
// bytes are unchanged (the process still runs the same program). Waiting needs no stop: if a target may forget that
// calls wait, Ring() reminds it. Belongs to one thread, the one that may trace.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/timed_stop.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/call_queue_image.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// The data that a call uses, written into the target before it. Eight of its bytes must be unchanged when the call is
// queued. Four zero bytes at `wipe` (null: not needed) turn the call into one that does nothing.
struct CallGuard {
  RemoteAddr address;
  std::array<uint8_t, 8> bytes{};
  RemoteAddr wipe;
};

// Bytes at the beginning of a text that may have been wiped.
inline constexpr size_t kWipedBytes = 4;
// How long a collector tries to wipe what it leaves.
inline constexpr Nanos kWipePatience = Nanos::FromSeconds(1);

enum class Withdrawal { kTakenBack, kTaken, kLeft };

// Whether the bytes of a guard are unchanged.
bool GuardHolds(RemoteMemory& memory, const CallGuard& guard);

// Checks that a process can be stopped and continued. kFailedPrecondition: it is stopped (SIGSTOP), is in a frozen
// cgroup, or is traced by another process.
Result<void> CheckStoppable(Pid pid);

// Resets the breaker if no call waits any more. Needed if a traced thread makes no step while the breaker is set
// (EvalBreaker::holds_traced). The thread that makes the calls ignores a breaker that is set during one. So a text that
// comes then, once calls are traced, would never continue. Costs one stop in that case, otherwise one read.
Result<void> FreeHeldRunner(Pid pid, RemoteMemory& memory, const CallQueue& queue);

class QueuedCall {
 public:
  // kResourceExhausted: the queue is full. kUnavailable: its lock was held, or threads did not stop, until the
  // deadline. kDataLoss: the queue is inconsistent. kGone: the target has ended, or is another program by now.
  // kFailedPrecondition: see CheckStoppable.
  static Result<QueuedCall> Put(Pid pid, RemoteMemory& memory, const CallQueue& queue, const QueuedFunction& call,
                                const CallGuard& guard, const Patience& patience);

  QueuedCall(QueuedCall&&) noexcept = default;
  QueuedCall& operator=(QueuedCall&&) = delete;
  ~QueuedCall();  // Withdraw

  // True once a thread has taken the call. kGone.
  Result<bool> Taken();
  Result<void> Ring();

  Result<Withdrawal> Withdraw();  // after kTakenBack, always returns kTakenBack

  const StopCost& cost() const { return state_->cost; }

 private:
  struct State {
    Pid pid;
    RemoteMemory* memory;
    RemoteWriter writer;
    CallQueue queue;
    QueuedFunction call;
    CallGuard guard;
    const Patience* patience = nullptr;  // only while the call is being put
    uint32_t slot = 0;
    bool open = false;  // put, and possibly still in the queue
    bool taken_back = false;
    StopCost cost;
  };
  explicit QueuedCall(std::unique_ptr<State> state) : state_(std::move(state)) {}

  // One attempt each, under a stop. False: not possible now.
  static Result<bool> TryPut(State& state);
  static Result<bool> TryTakeBack(State& state);

  std::unique_ptr<State> state_;  // null: moved from
};

}  // namespace ptrace_prof
