// The Python stacks of launches that the GPU shim took as the calls were made, by the correlation of the call.
//
// The shim names a code object by its address and tells by which fields it knew it. It is looked up here as soon as
// that is heard, and believed if it still has them: it ran when the stack was taken, so that this is what ran, and not
// what has got its address since. From the first frame on of which that cannot be said the stack is cut, and marked as
// such. Names stay known when the StackTable is cleared. Does not stop the target. One per target; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "attach/inject/gpu_launch_area.h"
#include "attach/proc/remote_memory.h"
#include "daemon/trace/stack_table.h"
#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

class GpuLaunchStacks {
 public:
  // All must outlive it.
  GpuLaunchStacks(RemoteMemory& memory, const PythonProcess& python, StackTable& stacks);

  // What has come since the last time.
  void Take(GpuLaunchArea& area);
  // Where the call was made that has this correlation and began at about that time. Empty: that was not told.
  std::optional<StackId> Of(uint32_t correlation, Nanos begin);
  // Of calls that began before that nothing is asked any more.
  void Forget(Nanos older);

 private:
  struct KnownFrame {
    CodeId code;
    uint64_t instruction;
  };
  struct KnownStack {
    std::vector<KnownFrame> frames;      // outermost first
    bool is_deeper = false;              // there are more callers
    bool is_cut = false;                 // and more callees, which could not be named
    std::optional<uint32_t> generation;  // of the StackTable that `id` is of; empty: it was not asked for yet
    StackId id;
  };
  struct Launch {
    Nanos when;
    uint32_t stack;
  };

  void Learn(uint32_t stack, const GpuLaunchArea& area);
  CodeId CodeOf(const pp_gpu_frame& frame);
  StackId Intern(const KnownStack& stack);
  void ForgetFirst();

  StackTable& stacks_;
  CodeCache codes_;
  std::unordered_map<uint32_t, KnownStack> known_;  // by the number that the shim gave them
  std::unordered_map<uint32_t, Launch> launches_;   // by correlation
  std::deque<std::pair<Nanos, uint32_t>> order_;    // of those: when they came, and which
};

}  // namespace ptrace_prof
