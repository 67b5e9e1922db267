// What an exporter is told of GPUs while the trace is read: operations on queues, the calls of threads that
// launched them, and what threads annotate. Devices and queues themselves are facts of the Recording, there before
// their first operation.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class GpuSink {
 public:
  virtual ~GpuSink() = default;
  virtual void OnGpuOperation(GpuQueueId, const GpuOperation&) {}
  virtual void OnGpuApiCall(TrackId, const GpuApiCall&) {}
  virtual void OnGpuAnnotation(TrackId, const GpuAnnotation&) {}
};

}  // namespace ptrace_prof
