// The GPU events that an exporter receives while the trace is read: operations on queues, the calls that launched them,
// annotations of threads, and operators and memory of PyTorch. Devices and queues are in the Recording before their
// first operation.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/held_tensor.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class GpuSink {
 public:
  virtual ~GpuSink() = default;
  virtual void OnGpuOperation(GpuQueueId, const GpuOperation&) {}
  virtual void OnGpuApiCall(TrackId, const GpuApiCall&) {}
  virtual void OnGpuAnnotation(TrackId, const GpuAnnotation&) {}
  virtual void OnOperator(TrackId, const Operator&) {}
  virtual void OnAllocation(TrackId, const Allocation&) {}
  virtual void OnHeldTensor(const HeldTensor&) {}
  virtual void OnExecutionTrace(Pid, std::string_view /*piece*/) {}
};

}  // namespace ptrace_prof
