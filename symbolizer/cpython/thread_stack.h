// The stack of one PyThreadState: predicts which bytes a sample needs, and turns them into a FrameChain.
//
// Per sample: AppendRequests to a batch (with other threads' requests), read the batch, then Collect. Collect asks the
// target for more only where the prediction failed; otherwise the whole chain comes from one process_vm_readv. Whether
// the thread stands still meanwhile is the caller's business: of one that runs, the chain may be torn, and what is
// missing may be of a later moment. One owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/read_plan.h"

namespace ptrace_prof {

// What may be spent on the stacks of threads that stand still for it.
inline constexpr Nanos kLongestRead = Nanos::FromMillis(2);
inline constexpr Nanos kNoDeadline = Nanos(INT64_MAX);
// Of memory at one stop: some 0.2 us each.
inline constexpr size_t kMostPieces = 8192;

enum class CollectStatus : uint8_t {
  kWhole,    // reached the root
  kTooDeep,  // cut at the depth limit; the leaf side is kept
  kTooLong,  // cut at the deadline; the leaf side is kept
  kBroken,   // the chain moved under us or makes no sense; frames() holds what was linked before the bad place
  kNoState,  // the thread state is gone or is another thread's now
  kGone,     // the process is gone
};

class ThreadStack {
 public:
  ThreadStack(const Layout& layout, RemoteAddr state, RemoteAddr interpreter, uint32_t max_depth);

  RemoteAddr state() const { return state_; }
  void AppendRequests(std::vector<ReadRequest>* batch);

  // After a batch that filled all requests of this thread (`filled`); otherwise, and where the prediction was too far
  // off, this thread is read alone. `deadline`: of one that stands still for it.
  CollectStatus Collect(RemoteMemory& memory, bool filled, Nanos deadline = kNoDeadline);
  // Reads this thread alone, and collects.
  CollectStatus ReadAgain(RemoteMemory& memory, Nanos deadline = kNoDeadline);
  // Before a stop: has ready what to ask for then. Of a stack that is not known yet, or could not be read in time, that
  // is read as it goes.
  void Prime(RemoteMemory& memory);
  bool is_known() const { return !bare_ && !is_unknown_; }
  size_t pieces() const { return plan_.pieces(); }  // of memory that a sample asks for

  // From 3.12 on the interpreter has a shim below all of them, while it runs them: where that is not there, callers may
  // be missing (a frame is for some instructions the youngest one before it is linked to its caller), or who runs them
  // is not the interpreter (Nuitka).
  bool lacks_base() const {
    return layout_.owner_no_python != Layout{}.owner_no_python && !chain_.frames.empty() && !chain_.ends_in_shim;
  }
  bool was_pieced() const { return pieced_; }                            // the last chain took more than one read
  const std::vector<RawFrame>& frames() const { return chain_.frames; }  // leaf first

 private:
  bool LocateCurrent(uint64_t* current);
  CollectStatus Walk(RemoteMemory& memory, Nanos deadline);
  void NoteWalk();
  bool IsOfThisThread(const std::byte* state) const;
  ReadStatus Fetch(RemoteMemory& memory, uint64_t frame);
  void Remember(uint64_t missed);
  void Replan();
  bool Plan(size_t frames);
  void ReplanIfDue();
  void PlanRoom(uint64_t leaf);
  void Forget();
  ReadStatus ReadPlanned(RemoteMemory& memory);

  const Layout& layout_;
  RemoteAddr state_;
  RemoteAddr interpreter_;
  uint32_t max_depth_;
  const uint32_t state_size_;  // so much of the thread state: each further cache line is one that the target writes to
  ReadPlan plan_;
  ReadPlan fetched_;  // what the plan lacked, this time
  FrameChain chain_;
  uint64_t current_ = 0;
  uint64_t highest_ = 0;              // highest leaf since the last plan
  uint64_t cframe_ = 0;               // last seen tstate->cframe (3.11, 3.12)
  std::array<uint64_t, 4> missed_{};  // frames that lately were not in the plan: they come and go
  uint32_t missed_next_ = 0;
  uint32_t since_replan_ = 0;
  bool pieced_ = false;  // the last walk had to ask for more
  bool bare_ = false;    // the plan holds nothing but the thread state
  bool replan_due_ = false;
  bool is_unknown_ = true;  // no walk yet, or the last one came to its deadline
  std::vector<ReadRequest> requests_;
};

}  // namespace ptrace_prof
