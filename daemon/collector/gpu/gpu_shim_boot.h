// Collects what the GPU shim needs to know about its target: functions of libc, its CUPTI, what to record.
//
// Reads the target without stopping it or writing to it. All refusals that can be known beforehand come from here.
// Stateless. The counterpart of stub_boot.h for the tracer stub.
#pragma once

#include "attach/abi/gpu_boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/gpu/gpu_detail.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {

inline constexpr uint32_t kEveryLaunch = UINT32_MAX;

struct GpuWishes {
  GpuDetail detail = GpuDetail::kDefault;
  uint32_t backend = PP_GPU_BACKEND_CUPTI;
  bool force = false;  // also use versions that are known to crash jobs
  // Shut CUPTI down at the end, if its version can. No recording requests it: with 13.0 on an H100 and an H200, jobs of
  // several threads that replay graphs lost their CUDA context at the second or third time (error 719).
  bool finalize = false;
  uint32_t slots = 63;  // of 1 MiB: with its head the arena is 64 MiB at most
  // Launches per second and thread whose Python stacks are taken at the call (launch_rate), and those among them that
  // launch a graph (graph_rate); launch_rate 0: none. Takes 5 of the slots.
  uint32_t launch_rate = 0;
  uint32_t graph_rate = 0;
  Nanos lease = Nanos::FromSeconds(5);
};

// Fills in everything except the nonce. Errors: Reason::kNoCuda, kCuptiBlocked.
Result<pp_gpu_boot> DescribeForGpuShim(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                       const GpuWishes& wishes);

}  // namespace ptrace_prof
