// The stack of one PyThreadState: predicts which bytes a sample needs, and turns them into a FrameChain.
//
// Per sample: AppendRequests to a batch (with other threads' requests), read the batch, then Collect. Collect asks the
// target for more only where the prediction failed; otherwise the whole chain comes from one process_vm_readv. A series
// is several moments of the stack in one system call, most of whose cost is that of the call: ReadSeries, then
// Take each of them. Does not stop the target and does not judge the chain: see StackLinker. One
// owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/read_plan.h"

namespace ptrace_prof {

enum class CollectStatus : uint8_t {
  kWhole,    // reached the root
  kTooDeep,  // cut at the depth limit; the leaf side is kept
  kBroken,   // the chain moved under us or makes no sense; frames() holds what was linked before the bad place
  kNoState,  // the thread state is gone or is another thread's now
  kGone,     // the process is gone
};

class ThreadStack {
 public:
  struct Moment {
    std::optional<CollectStatus> status;  // none: what was read of it is not enough
    FrameChain chain;
  };
  using Series = std::vector<Moment>;

  ThreadStack(const Layout& layout, RemoteAddr state, RemoteAddr interpreter, uint32_t max_depth);

  RemoteAddr state() const { return state_; }
  void AppendRequests(std::vector<ReadRequest>* batch);

  // `read_at`: when the batch was read that filled all requests of this thread; 0: it did not. Where the rest comes
  // much later than that (we were put to sleep in between), all is read anew: the two would be of different stacks.
  CollectStatus Collect(RemoteMemory& memory, Nanos read_at);
  // Reads this thread alone, in the order of the plan or backwards, and collects.
  CollectStatus ReadAgain(RemoteMemory& memory, bool backwards);

  // Its stack is now that of this object (and what was that of this object is in `moment`). One of which too little was
  // read is read anew.
  CollectStatus Take(Moment& moment, RemoteMemory& memory);
  // A series of this thread alone, its moments at random distances of 1 to 2 us and in both orders; how many: fewer
  // where a stack takes many pieces, 0: not read. The stack of this object stays what it is.
  size_t ReadSeries(RemoteMemory& memory, uint64_t random, Series* series);

  // Leaves out what lies, between two frames, where shims lay lately, on the C stack: a call from C that has returned,
  // and whose shim was written over before it was read. Not where what is above may be of a later moment of a recursion
  // than what is below. Whether there was any.
  bool DropDeadShims();

  // The chain proved true: from now on, what lies below its outermost frame need not be read each time.
  void TrustBottom();

  const std::vector<RawFrame>& frames() const { return chain_.frames; }  // leaf first

 private:
  void CollectSeries(RemoteMemory& memory, size_t moments, Nanos read_at, Series* series);
  bool LocateCurrent(uint64_t* current);
  CollectStatus Walk(RemoteMemory& memory);
  void NoteWalk();
  void NoteShims();
  bool IsOfThisThread(const std::byte* state) const;
  uint32_t DepthOf(const std::byte* state) const;
  bool IsOfSeveralMoments(uint32_t depth) const;
  ReadStatus Fetch(RemoteMemory& memory, uint64_t frame);
  void Remember(uint64_t missed);
  void Replan();
  void ReplanIfDue();
  size_t SeriesLength() const;
  void PlanRoom(uint64_t leaf);
  void Forget();
  ReadStatus ReadPlanned(RemoteMemory& memory, bool backwards);

  const Layout& layout_;
  RemoteAddr state_;
  RemoteAddr interpreter_;
  uint32_t max_depth_;
  const uint32_t state_size_;  // so much of the thread state: each further cache line is one that the target writes to
  ReadPlan plan_;
  ReadPlan fetched_;  // what the plan lacked, this time
  FrameChain chain_;
  FrameChain kept_;  // while a series is walked
  uint64_t current_ = 0;
  uint64_t highest_ = 0;              // highest leaf since the last plan
  ChainBottom bottom_;                // on the C stack: a read of its own saved
  uint64_t cframe_ = 0;               // last seen tstate->cframe (3.11, 3.12)
  std::array<uint64_t, 4> missed_{};  // frames that lately were not in the plan: they come and go
  uint32_t missed_next_ = 0;
  std::array<uint64_t, 8> shims_{};  // addresses, as they were met
  uint32_t shims_next_ = 0;
  uint32_t since_replan_ = 0;
  bool pieced_ = false;  // the last walk had to ask for more
  bool bare_ = false;    // the plan holds nothing but the thread state
  bool replan_due_ = false;
  std::vector<ReadRequest> requests_;
  std::array<std::byte, 8> ignored_{};  // what is read to let time pass
};

}  // namespace ptrace_prof
