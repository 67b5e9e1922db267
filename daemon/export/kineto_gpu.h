// GPU operations, the calls that launched them, and the arrows between the two, in Kineto's JSON, which
// HolisticTraceAnalysis and PyTorch's tools read.
//
// As in Kineto, a GPU is a process (its number) and a stream is a thread of it. Waits of the host overlap the stream's
// kernels, so they get a thread beside the stream's. Written while the trace is read; memory: one time per queue.
#pragma once

#include <set>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/kineto_writer.h"

namespace ptrace_prof {

class KinetoGpu {
 public:
  // All must outlive it.
  KinetoGpu(const ExportContext& context, FunctionTable& functions, JsonOutput& json, KinetoWriter& writer)
      : context_(context), functions_(functions), json_(json), writer_(writer) {}

  void OnOperation(GpuQueueId queue, const GpuOperation& operation);
  void OnApiCall(TrackId track, const GpuApiCall& call);
  void OnAnnotation(TrackId track, const GpuAnnotation& annotation);
  bool is_empty() const { return is_empty_; }

  void WriteNames();             // events with the names of GPUs and streams
  void WriteDeviceProperties();  // a member of the file's outermost object

 private:
  KinetoPlace PlaceOf(const GpuQueue& queue, GpuOperationKind kind) const;
  void WriteArguments(const GpuQueue& queue, const GpuOperation& operation);
  void WriteShape(const GpuShape& shape);
  void WriteCopy(const GpuOperation& operation);
  void WriteSync(const GpuQueue& queue, const GpuOperation& operation);
  void WritePython(StackId stack, GpuStackSource source);

  const ExportContext& context_;
  FunctionTable& functions_;
  JsonOutput& json_;
  KinetoWriter& writer_;
  bool is_empty_ = true;
  std::vector<Nanos> kernel_ends_;  // by queue
  std::set<uint32_t> waited_on_;    // queues with waits
};

}  // namespace ptrace_prof
