// One call in the queue of a target: put there under a brief stop of all threads, until one of them has taken it out.
//
//   Put ──► waiting ──► taken (by a thread of the target; what the call does is seen elsewhere)
//              └──────► taken back (Withdraw, or the end of this object), as if it had never been there;
//                       left, where other calls have come behind it: what it would act on is wiped, so that it does
//                       nothing
//
// The queue is written back in one piece (remote_writer.h): at whatever moment we are killed, it is in order, with the
// call or without it. Nothing is written unless the lock is free, the queue is in order and not full, and the
// guard bytes are where they were put (the process is the same program still). Waiting needs no stop: where a target
// may forget that calls wait, Ring() reminds it. Belongs to one thread, the one that may trace.
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

// What a call acts on, and was put into the target before it: eight bytes of it must still be there when the call is
// queued, and four zero bytes at `wipe` (null: no need) make the call one
// that does nothing.
struct CallGuard {
  RemoteAddr address;
  std::array<uint8_t, 8> bytes{};
  RemoteAddr wipe;
};

enum class Withdrawal { kTakenBack, kTaken, kLeft };

// Whether the bytes of a guard are there.
bool GuardHolds(RemoteMemory& memory, const CallGuard& guard);

// That a process can be stopped and goes on afterwards. kFailedPrecondition: it is stopped (SIGSTOP), stands in a
// frozen cgroup, or is traced by another.
Result<void> CheckStoppable(Pid pid);

// Where a traced thread makes no step while the breaker is set (EvalBreaker::holds_traced): the one that makes the
// calls does not answer to a breaker that is set while it makes one, so that a text that comes then, once calls are
// traced, would never go on. Is nothing waiting any more, the breaker goes back. Costs a stop where that is so, and
// else a read.
Result<void> FreeHeldRunner(Pid pid, RemoteMemory& memory, const CallQueue& queue);

class QueuedCall {
 public:
  // kResourceExhausted: the queue is full. kUnavailable: its lock was held, or threads did not stop, until its
  // deadline. kDataLoss: it is no queue in order. kGone: ended, or another program by now. kFailedPrecondition:
  // CheckStoppable.
  static Result<QueuedCall> Put(Pid pid, RemoteMemory& memory, const CallQueue& queue, const QueuedFunction& call,
                                const CallGuard& guard, const Patience& patience);

  QueuedCall(QueuedCall&&) noexcept = default;
  QueuedCall& operator=(QueuedCall&&) = delete;
  ~QueuedCall();  // Withdraw

  // True once a thread has taken the call. kGone.
  Result<bool> Taken();
  Result<void> Ring();

  Result<Withdrawal> Withdraw();  // once taken back, always said so

  const StopCost& cost() const { return state_->cost; }

 private:
  struct State {
    Pid pid;
    RemoteMemory* memory;
    RemoteWriter writer;
    CallQueue queue;
    QueuedFunction call;
    CallGuard guard;
    const Patience* patience = nullptr;  // while it is put
    uint32_t slot = 0;
    bool open = false;  // put, and not known to be out of the queue
    bool taken_back = false;
    StopCost cost;
  };
  explicit QueuedCall(std::unique_ptr<State> state) : state_(std::move(state)) {}

  // One attempt each, under a stop. False: not now.
  static Result<bool> TryPut(State& state);
  static Result<bool> TryTakeBack(State& state);

  std::unique_ptr<State> state_;  // null: moved from
};

}  // namespace ptrace_prof
