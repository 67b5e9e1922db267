// GPU operations, the calls that launched them, and the arrows between the two, in Kineto's JSON, which
// HolisticTraceAnalysis and PyTorch's tools read.
//
// As in Kineto, a GPU is a process (its number) and a stream is a thread of it. Waits of the host overlap the stream's
// kernels, so they get a thread beside the stream's. Written while the trace is read; memory: one time per queue. If
// the recording may have operators of PyTorch, calls and operations wait for those that contain them, which come when
// they have ended: they then carry the operator's External id. At most kMostHeld of each wait.
#pragma once

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/kineto_writer.h"
#include "daemon/export/operator_links.h"

namespace ptrace_prof {

class KinetoGpu {
 public:
  // All must outlive it.
  KinetoGpu(const ExportContext& context, FunctionTable& functions, JsonOutput& json, KinetoWriter& writer,
            OperatorLinks& operators)
      : context_(context), functions_(functions), json_(json), writer_(writer), operators_(operators) {}

  void OnOperation(GpuQueueId queue, const GpuOperation& operation);
  void OnApiCall(TrackId track, const GpuApiCall& call);
  void OnAnnotation(TrackId track, const GpuAnnotation& annotation);
  void Finish();  // writes what is held back
  bool is_empty() const { return is_empty_; }

  void WriteNames();             // events with the names of GPUs and streams
  void WriteDeviceProperties();  // a member of the file's outermost object

 private:
  bool HoldsBack() const;
  void Release(size_t most);
  void Write(GpuQueueId id, const GpuOperation& operation);
  void Write(TrackId track, const GpuApiCall& call);
  void WriteExternalId(OperatorThread thread, Nanos when);
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
  OperatorLinks& operators_;
  std::deque<std::pair<GpuQueueId, GpuOperation>> held_operations_;
  std::deque<std::pair<TrackId, GpuApiCall>> held_calls_;
  bool is_empty_ = true;
  std::vector<Nanos> kernel_ends_;  // by queue
  std::set<uint32_t> waited_on_;    // queues with waits
};

}  // namespace ptrace_prof
