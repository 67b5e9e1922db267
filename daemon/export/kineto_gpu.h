// Operations on GPUs, the calls that launched them, and the arrows between the two, in Kineto's JSON: what
// HolisticTraceAnalysis and PyTorch's own tools read.
//
// A GPU is a process (its number), a stream a thread of it, as Kineto has it. Waits of the host get a thread beside
// their stream's: they lie across its kernels. Written while the trace is read; memory: one time per queue.
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

  void WriteNames();             // of GPUs and streams: events
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
