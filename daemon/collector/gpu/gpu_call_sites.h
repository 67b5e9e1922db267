// Finds the thread that made a call to the GPU's runtime, and its Python stack at that time.
//
// Traced calls give the exact stack, as does a stack that was taken at the call itself. Samples give the nearest stack,
// an approximation. Threads of PyTorch's autograd engine run no Python: they launch on behalf of the thread that waits
// for the engine at that moment (gpu_engine_wait.h). Threads unknown to Python get a track of their own. One per
// target; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_engine_wait.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/collector/gpu/gpu_launch_stacks.h"
#include "daemon/collector/target/stack_history.h"
#include "daemon/collector/target/thread_roster.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

enum class GpuStackKind : uint8_t { kTraced, kSampled };

class GpuThreadSites final : public GpuCallSites {
 public:
  GpuThreadSites(Pid pid, ThreadRoster& roster, const StackHistory& history, GpuLaunchStacks& launches,
                 const StackTable& stacks, TraceWriter& writer, GpuStackKind kind)
      : pid_(pid),
        roster_(roster),
        history_(history),
        launches_(launches),
        stacks_(stacks),
        writer_(writer),
        kind_(kind) {}

  GpuCallSite Of(const GpuCallPlace& call) override;
  ThreadHandle ThreadOf(uint32_t thread) override { return Find(thread).handle; }
  // Call before each batch of calls, as threads come and go.
  void Refresh();

 private:
  struct Known {
    ThreadHandle handle;
    Tid tid;
    bool is_engine = false;  // a thread of the autograd engine
    bool is_own = false;     // its track was added here, not by the roster
  };

  const Known& Find(uint32_t thread);
  Known AddUnknown(Tid inner);
  GpuEngineWait WaitFor(Nanos when) const;

  const Pid pid_;
  ThreadRoster& roster_;
  const StackHistory& history_;
  GpuLaunchStacks& launches_;
  const StackTable& stacks_;
  TraceWriter& writer_;
  const GpuStackKind kind_;
  std::unordered_map<uint32_t, Known> threads_;  // by the tid in the target's pid namespace
};

}  // namespace ptrace_prof
