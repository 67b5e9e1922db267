// The stack of one PyThreadState: predicts which bytes a sample needs, and turns them into a FrameChain.
//
// Per sample: AppendRequests to a batch (with other threads' requests), read the batch, then Collect. Collect reads
// more from the target only if the prediction failed; otherwise the whole chain comes from one process_vm_readv. The
// caller decides whether the thread is stopped meanwhile. For a running thread the chain may be torn, and bytes that
// were fetched late may be from a later moment. One owner, one thread.
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

// Time limit for the stacks of threads that are stopped for reading.
inline constexpr Nanos kLongestRead = Nanos::FromMillis(2);
inline constexpr Nanos kNoDeadline = Nanos(INT64_MAX);
// Pieces of memory at one stop: some 0.2 us each.
inline constexpr size_t kMostPieces = 8192;

enum class CollectStatus : uint8_t {
  kWhole,    // reached the root
  kTooDeep,  // cut at the depth limit; the leaf side is kept
  kTooLong,  // cut at the deadline; the leaf side is kept
  kBroken,   // the chain changed meanwhile or is invalid; frames() holds the frames before the bad place
  kNoState,  // the thread state is gone or belongs to another thread now
  kGone,     // the process is gone
};

class ThreadStack {
 public:
  ThreadStack(const Layout& layout, RemoteAddr state, RemoteAddr interpreter, uint32_t max_depth);

  RemoteAddr state() const { return state_; }
  void AppendRequests(std::vector<ReadRequest>* batch);

  // Call it after a batch; `filled`: all requests of this thread were filled. Otherwise, or if the prediction was too
  // far off, this thread is read alone. `deadline`: for a thread that is stopped for reading.
  CollectStatus Collect(RemoteMemory& memory, bool filled, Nanos deadline = kNoDeadline);
  // Reads this thread alone, and collects.
  CollectStatus ReadAgain(RemoteMemory& memory, Nanos deadline = kNoDeadline);
  // Prepares the requests before a stop. A stack that is unknown, or could not be read in time, is read without a stop.
  void Prime(RemoteMemory& memory);
  bool is_known() const { return !bare_ && !is_unknown_; }
  size_t pieces() const { return plan_.pieces(); }  // of memory that a sample requests

  // From 3.12 on the interpreter has a shim below all frames that it runs. If the shim is missing, callers may be
  // missing (for some instructions a frame is the youngest one before it is linked to its caller), or the frames are
  // not run by the interpreter (Nuitka).
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
  const uint32_t state_size_;  // bytes to read of the thread state: each further cache line is one that the target
                               // writes to
  ReadPlan plan_;
  ReadPlan fetched_;  // what the plan lacked in this sample
  FrameChain chain_;
  uint64_t current_ = 0;
  uint64_t highest_ = 0;              // highest leaf since the last plan
  uint64_t cframe_ = 0;               // last seen tstate->cframe (3.11, 3.12)
  std::array<uint64_t, 4> missed_{};  // frames that were recently missing from the plan: they come and go
  uint32_t missed_next_ = 0;
  uint32_t since_replan_ = 0;
  bool pieced_ = false;  // the last walk had to read more
  bool bare_ = false;    // the plan contains only the thread state
  bool replan_due_ = false;
  bool is_unknown_ = true;  // no walk yet, or the last one reached its deadline
  std::vector<ReadRequest> requests_;
};

}  // namespace ptrace_prof
