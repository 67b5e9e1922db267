// Writes samples and calls as a stream of Perfetto TracePackets, any prefix of which is a valid trace.
//
// There is one packet sequence per thread (ThreadDescriptor, InternedData, StreamingProfilePacket). Thread states are
// slices on a child track, written on change. Data without a Perfetto field go into our TracePacket extension
// (extension.proto). Samples of a thread are buffered and written as one packet per Flush; ids are interned per
// sequence and start small. Memory is bounded: a sequence whose tables exceed a limit starts a new incremental state.
// The hot path (AddSample) does not allocate in the steady state. Times of samples and states are cut to microseconds,
// Perfetto's unit for samples. Exact calls are slices on the thread's track, encoded at once, in nanoseconds. They
// always nest: ends without a begin are left out.
// Owned by the collector's one thread. Errors of the sink are sticky and returned by Flush.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/allocation.h"
#include "daemon/trace/call.h"
#include "daemon/trace/check.h"
#include "daemon/trace/counter.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/held_tensor.h"
#include "daemon/trace/model.h"
#include "daemon/trace/operator.h"
#include "daemon/trace/process_entry.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/trace_origin.h"
#include "daemon/trace/write/byte_sink.h"
#include "daemon/trace/write/gpu_writer.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

using ThreadHandle = StrongId<struct ThreadHandleTag, uint32_t>;

class TraceWriter {
 public:
  // `stacks` must outlive the writer; ids given to AddSample are looked up in it at Flush at the latest.
  TraceWriter(ByteSink& sink, const StackTable& stacks, const CaptureTask& request,
              const TraceOrigin& origin = TraceOrigin::Here());
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void AddProcess(const ProcessInfo& process);
  ThreadHandle AddThread(const ThreadInfo& thread);  // its process must be added before
  void RenameThread(ThreadHandle thread, std::string_view name);
  void EndThread(ThreadHandle thread, Nanos when);                // closes its state slice; the handle becomes invalid
  void EndProcess(Pid pid, Nanos when, std::string_view reason);  // "exited", "exec", ...

  // `when` must not decrease for a thread.
  void AddSample(ThreadHandle thread, Nanos when, StackId stack, SampleQuality quality);
  // Call it on every change only; equal states in a row are ignored.
  void SetState(ThreadHandle thread, Nanos when, const StateInfo& state);

  // Locals of frame number `depth_from_leaf` (0 = leaf) of the last sample of the thread.
  void AddLocals(ThreadHandle thread, uint32_t depth_from_leaf, std::span<const LocalVariable> locals);

  // Exact calls. `when` must not decrease for a thread. `function` is a frame of the StackTable; its line is not
  // written.
  void BeginCall(ThreadHandle thread, Nanos when, FrameId function, CallEntry entry, GeneratorId generator);
  void EndCall(ThreadHandle thread, Nanos when, CallExit exit);  // of the innermost open call
  // `events` 0: no event was lost; the thread was held back.
  void AddLostCalls(ThreadHandle thread, Nanos from, Nanos to, uint64_t events);
  // ProfilerStep#number, on a track below the thread's; ends the step before.
  void BeginStep(ThreadHandle thread, Nanos when, uint64_t number);
  void EndStep(ThreadHandle thread, Nanos when);

  // GPU data. Add a queue's process and device before it, since it shows the device's name. Operations and calls may
  // come in any order, but those of one queue preferably in order of time: apparent overlaps go on another track.
  void AddGpuDevice(const GpuDevice& device);
  GpuQueueHandle AddGpuQueue(const GpuQueue& queue);
  void AddGpuOperation(GpuQueueHandle queue, const GpuOperation& operation);
  void AddGpuApiCall(ThreadHandle thread, const GpuApiCall& call);
  void AddGpuAnnotation(ThreadHandle thread, const GpuAnnotation& annotation);
  // An operator of PyTorch, once its end is known: in about that order.
  void AddOperator(ThreadHandle thread, const Operator& one);
  // Memory of PyTorch.
  void AddAllocation(ThreadHandle thread, const Allocation& one);
  void AddGpuAccounting(const GpuAccounting& accounting);

  // Numbers over time. `when` must not decrease for a counter.
  CounterId AddCounter(const CounterInfo& counter);
  void AddCount(CounterId counter, Nanos when, int64_t value);

  // For a listing (kList) and a diagnosis (kDoctor): each becomes a packet of its own.
  void AddProcessEntry(const ProcessEntry& entry);
  void AddCheck(const Check& check);

  // A sentence for the people who read the trace.
  void AddNotice(Nanos when, std::string_view text);
  void AddHeldTensor(const HeldTensor& tensor);
  // All that was recorded between these times has been written.
  void AddWindow(const TimeRange& window);
  void AddExecutionTrace(Pid pid, std::string_view piece);
  void SetAccounting(const Accounting& accounting);
  // Writes everything pending. Call it a few times a second, and before the StackTable is cleared.
  Result<void> Flush();
  // Closes open slices, writes the last accounting and the end, and flushes.
  Result<void> End(Nanos when, const Accounting& accounting, const EndInfo& end);

  uint64_t bytes_written() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
