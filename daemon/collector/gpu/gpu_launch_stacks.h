// The Python stacks that the GPU shim took at launches, by the correlation of the call.
//
// The shim gives the address of a code object and the identity of its fields. The code object is read here at once, and
// accepted if it still has that identity: it ran when the stack was taken, so it is the right one and not a later
// object at the same address. At the first frame that fails this check the stack is cut and marked as cut. Names are
// kept when the StackTable is cleared. Does not stop the target. One per target; one thread.
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
  // All arguments must outlive it.
  GpuLaunchStacks(RemoteMemory& memory, const PythonProcess& python, StackTable& stacks);

  // Reads what has come since the last call.
  void Take(GpuLaunchArea& area);
  // The stack of the call with this correlation that began at about that time. Nullopt: none was reported.
  std::optional<StackId> Of(uint32_t correlation, Nanos begin);
  // Calls that began before `older` will not be looked up any more.
  void Forget(Nanos older);

 private:
  struct KnownFrame {
    CodeId code;
    uint64_t instruction;
  };
  struct KnownStack {
    std::vector<KnownFrame> frames;  // outermost first
    bool is_deeper = false;          // has more callers
    bool is_cut = false;             // has more callees, which could not be named
    // Generation of the StackTable for which `id` is valid; empty: not interned yet.
    std::optional<uint32_t> generation;
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
  std::unordered_map<uint32_t, KnownStack> known_;  // by the shim's number
  std::unordered_map<uint32_t, Launch> launches_;   // by correlation
  std::deque<std::pair<Nanos, uint32_t>> order_;    // launches by arrival: time and correlation
};

}  // namespace ptrace_prof
