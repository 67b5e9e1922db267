// Settles the samples whose links are not all known: by looking again, else by one brief stop of the thread.
//
// Most doubtful chains are torn: read while the thread moved. They are read again at once, a few times, until every
// link is known. A chain that stands still instead has a link that we have not met yet: twenty more equal reads at
// random distances, in both orders, prove it real. One that keeps moving and stays in doubt is read once with the
// thread stopped (PTRACE_SEIZE + INTERRUPT, some tens of microseconds) if that is allowed; and so is a random share of
// those that a second look settled, because links too short-lived to stand still would otherwise never be learnt and
// their time would go to others. Stops may take kStopShare of the target's time. What cannot be settled is cut at the
// first doubtful link. One per process of the target; same thread as the sampler.
#pragma once

#include <cstdint>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collect/stack_linker.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {

struct VerifiedStack {
  StackId stack = kEmptyStack;
  NodeId leaf = kRootNode;
  SampleQuality quality = SampleQuality::kVerified;
  bool readable = true;  // false: nothing could be read at all
  bool gone = false;     // the process ended
};

class ChainVerifier {
 public:
  struct Counters {
    uint64_t confirmed = 0;  // settled by looking again
    uint64_t stops = 0;
    uint64_t failed_stops = 0;
    Nanos stopped_total;
  };

  ChainVerifier(Pid pid, RemoteMemory& memory, StackLinker& linker, bool allow_stops);

  // `collected` is what ThreadStack::Collect said about `stack`.
  VerifiedStack Verify(Tid tid, CollectStatus collected, ThreadStack& stack, LinkedChain& chain);
  // The thread was stopped while the chain was read: it is exact.
  VerifiedStack Accept(CollectStatus collected, ThreadStack& stack, LinkedChain& chain);

  const Counters& counters() const { return counters_; }

 private:
  enum class Look : uint8_t {
    kKnown,   // every link is known now
    kStands,  // unchanged: new rather than torn
    kMoves,   // different each time, and always in doubt
    kLost,    // cannot be read any more
  };
  Look LookAgain(CollectStatus* collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  bool Confirm(ThreadStack& stack, CollectStatus* collected);
  bool LinkUp(CollectStatus collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  bool ReadStopped(Tid tid, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  VerifiedStack StopAtRandom(Tid tid, ThreadStack& stack, LinkedChain& chain, const VerifiedStack& seen);
  bool MayStop();
  uint64_t Random();
  void WaitABit();

  const Pid pid_;
  RemoteMemory& memory_;
  StackLinker& linker_;
  bool allow_stops_;
  uint64_t stop_one_in_;
  Nanos first_stop_;  // when the allowance for stops began to count
  uint64_t random_ = 0x9E3779B97F4A7C15ULL;
  std::vector<RawFrame> expected_;
  Counters counters_;
};

}  // namespace ptrace_prof
