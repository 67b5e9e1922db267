// What an exporter is told of GPUs while the trace is read: operations on queues, and the calls of threads that
// launched them. Devices and queues themselves are facts of the Recording, there before their first operation.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/trace_reader.h"

namespace ptrace_prof {

class GpuSink {
 public:
  virtual ~GpuSink() = default;
  virtual void OnGpuOperation(GpuQueueId, const GpuOperation&) {}
  virtual void OnGpuApiCall(TrackId, const GpuApiCall&) {}
};

}  // namespace ptrace_prof
