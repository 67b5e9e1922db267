#include "daemon/trace/write/trace_writer.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/extension_descriptor.h"
#include "daemon/trace/gpu_codec.h"
#include "daemon/trace/held_tensor_codec.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/piece_codec.h"
#include "daemon/trace/read/counter_track.h"
#include "daemon/trace/write/call_sequence.h"
#include "daemon/trace/write/gpu_writer.h"
#include "daemon/trace/write/thread_sequence.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr uint32_t kFormatVersion = 1;
constexpr uint32_t kWriterClock = 65;             // makes this writer's clock snapshots distinct, see below
constexpr size_t kMaxOutput = 256 * 1024;         // buffered before it goes to the sink
constexpr size_t kMaxPendingSamples = 32 * 1024;  // of one thread
constexpr size_t kMaxSequenceEntries = 128 * 1024;
constexpr size_t kMaxEntries = 1024 * 1024;  // of all sequences, some 20 bytes each
constexpr int kFlushesPerCheck = 8;          // the size of the tables grows little between two checks
constexpr size_t kMaxStates = 4096;

// States are compared by content; `detail` is static text and need not be copied.
bool Same(const StateInfo& a, const StateInfo& b) {
  return a.state == b.state && a.holds_gil == b.holds_gil && a.detail == b.detail;
}

}  // namespace

struct TraceWriter::Impl {
  Impl(ByteSink& sink_in, const StackTable& stacks_in, const TraceOrigin& origin_in)
      : sink(sink_in),
        stacks(stacks_in),
        origin(origin_in),
        sequence_id(FirstSequenceId(origin_in, Pid(getpid()))),
        next_sequence_id(sequence_id),
        short_sequence_ids(ShortSequenceIds(origin_in, Pid(getpid()))),
        names(stacks_in),
        generation(stacks_in.generation()),
        gpu(origin, stacks, names, sequence_id, [this] { return NewSequenceId(); }) {}

  template <typename Fill>
  void Packet(uint32_t flags, Fill fill);
  template <typename Fill>
  void Extension(int field, Fill fill);
  void WriteHeader(const CaptureTask& request);
  uint32_t NewSequenceId();
  uint32_t NewCallSequenceId();
  uint32_t StateNumber(const StateInfo& info);
  void EncodeThread(ThreadSequence& thread);
  void CheckTables();
  void ResetTables();
  void Drain();
  ThreadSequence* Find(ThreadHandle handle);
  void Use(uint32_t handle);
  CallSequence* CallsOf(ThreadHandle handle);
  CallSequence* OpenCalls(ThreadHandle handle);
  template <typename Encode>
  void WithCalls(ThreadHandle handle, Encode encode);
  template <typename Encode>
  void WithGpu(Encode encode);
  template <typename Encode>
  void WithGpuThread(ThreadHandle handle, Encode encode);

  ByteSink& sink;
  const StackTable& stacks;
  const TraceOrigin origin;
  const uint32_t sequence_id;  // of packets about the whole trace
  uint32_t next_sequence_id;
  const uint32_t short_sequence_ids;  // for sequences of calls: one of these and a number from 1
  uint32_t short_ids_given = 0;
  FrameNames names;
  uint32_t generation;
  GpuWriter gpu;
  std::unordered_map<Pid, uint64_t> process_uuids;
  std::vector<std::optional<ThreadSequence>> threads;  // by handle
  std::vector<std::unique_ptr<CallSequence>> calls;    // by handle; null if the thread has no calls
  std::vector<uint32_t> free_handles;
  std::vector<uint32_t> used;  // handles that may have something pending; with very many threads most have not
  std::vector<bool> is_used;   // by handle
  int flushes = 0;
  std::unordered_set<uint64_t> counter_groups;  // the uuids of the described tracks
  std::vector<uint64_t> counter_uuids;          // by CounterId
  std::vector<StateInfo> states;                // state n is states[n - 1]
  std::optional<Accounting> accounting;
  WireEncoder out;
  uint64_t bytes_written = 0;
  Result<void> status;
};

template <typename Fill>
void TraceWriter::Impl::Packet(uint32_t flags, Fill fill) {
  out.Message(pf::Trace::kPacketFieldNumber, [&] {
    fill();
    out.Varint(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_id);
    out.VarintIfSet(pf::TracePacket::kSequenceFlagsFieldNumber, flags);
  });
}

// A packet with one message of our extension.
template <typename Fill>
void TraceWriter::Impl::Extension(int field, Fill fill) {
  Packet(0, [&] { out.Message(trace::kPtraceProfFieldNumber, [&] { out.Message(field, fill); }); });
  if (out.buffer().size() > kMaxOutput) {
    Drain();
  }
}

void TraceWriter::Impl::WriteHeader(const CaptureTask& request) {
  using Clock = pf::ClockSnapshot::Clock;
  const struct {
    uint32_t id;
    Nanos time;
  } clocks[] = {
      {pf::BUILTIN_CLOCK_MONOTONIC, origin.monotonic},
      {pf::BUILTIN_CLOCK_BOOTTIME, origin.boottime},
      {pf::BUILTIN_CLOCK_REALTIME, origin.realtime},
      // Perfetto demands that snapshots of one set of clocks never go back in time. Concatenated traces would, so every
      // writer has a set of its own.
      {kWriterClock, origin.monotonic},
  };
  Packet(pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED, [&] {
    out.Message(trace::kPtraceProfFieldNumber, [&] {
      out.Message(trace::Extension::kHeaderFieldNumber, [&] {
        out.Varint(trace::Header::kFormatVersionFieldNumber, kFormatVersion);
        out.Bytes(trace::Header::kTaskFieldNumber, request.SerializeAsString());
        out.StringIfSet(trace::Header::kBootIdFieldNumber, origin.boot_id);
        out.StringIfSet(trace::Header::kHostFieldNumber, origin.host);
        out.SignedVarint(trace::Header::kStartRealtimeNsFieldNumber, origin.realtime.value);
        out.SignedVarint(trace::Header::kStartMonotonicNsFieldNumber, origin.monotonic.value);
      });
    });
    out.Message(pf::TracePacket::kClockSnapshotFieldNumber, [&] {
      for (const auto& clock : clocks) {
        out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
          out.Varint(Clock::kClockIdFieldNumber, clock.id);
          out.SignedVarint(Clock::kTimestampFieldNumber, clock.time.value);
        });
      }
      out.Varint(pf::ClockSnapshot::kPrimaryTraceClockFieldNumber, pf::BUILTIN_CLOCK_MONOTONIC);
    });
  });
  Packet(0, [&] {
    out.Message(pf::TracePacket::kExtensionDescriptorFieldNumber,
                [&] { out.Bytes(pf::ExtensionDescriptor::kExtensionSetFieldNumber, ExtensionDescriptorSet()); });
  });
}

uint32_t TraceWriter::Impl::NewSequenceId() {
  do {
    next_sequence_id = ((next_sequence_id + 1) & kSequenceIdMask) | kLongSequenceId;
  } while (next_sequence_id == sequence_id);
  return next_sequence_id;
}

// Never reused: the clock of a sequence must not go back, and rings are not drained in order of time.
uint32_t TraceWriter::Impl::NewCallSequenceId() {
  return short_ids_given < kShortSequenceIds ? short_sequence_ids + ++short_ids_given : NewSequenceId();
}

uint32_t TraceWriter::Impl::StateNumber(const StateInfo& info) {
  if (Same(info, StateInfo{})) {
    return 0;
  }
  for (size_t i = 0; i < states.size(); ++i) {
    if (Same(states[i], info)) {
      return static_cast<uint32_t>(i) + 1;
    }
  }
  if (states.size() >= kMaxStates) {
    return StateNumber(StateInfo{info.state, false, {}});
  }
  states.push_back(info);
  return static_cast<uint32_t>(states.size());
}

ThreadSequence* TraceWriter::Impl::Find(ThreadHandle handle) {
  if (handle.value >= threads.size() || !threads[handle.value]) {
    return nullptr;
  }
  Use(handle.value);
  return &*threads[handle.value];
}

void TraceWriter::Impl::Use(uint32_t handle) {
  is_used.resize(threads.size());
  if (!is_used[handle]) {
    is_used[handle] = true;
    used.push_back(handle);
  }
}

void TraceWriter::Impl::EncodeThread(ThreadSequence& thread) {
  if (stacks.generation() != generation) {
    CheckTables();
  }
  thread.Encode(states, out);
  if (out.buffer().size() > kMaxOutput) {
    Drain();
  }
}

CallSequence* TraceWriter::Impl::CallsOf(ThreadHandle handle) {
  if (stacks.generation() != generation) {
    CheckTables();
  }
  return handle.value < calls.size() && calls[handle.value] ? calls[handle.value].get() : OpenCalls(handle);
}

CallSequence* TraceWriter::Impl::OpenCalls(ThreadHandle handle) {
  ThreadSequence* thread = Find(handle);
  if (thread == nullptr) {
    return nullptr;
  }
  if (!thread->is_described()) {
    EncodeThread(*thread);  // a track must come before its events
  }
  calls.resize(std::max<size_t>(calls.size(), handle.value + 1));
  calls[handle.value] = std::make_unique<CallSequence>(thread->process_uuid(), thread->thread_uuid(),
                                                       NewCallSequenceId(), origin, stacks);
  return calls[handle.value].get();
}

template <typename Encode>
void TraceWriter::Impl::WithCalls(ThreadHandle handle, Encode encode) {
  if (CallSequence* sequence = CallsOf(handle)) {
    encode(*sequence);
    if (out.buffer().size() > kMaxOutput) {
      Drain();
    }
  }
}

template <typename Encode>
void TraceWriter::Impl::WithGpu(Encode encode) {
  if (stacks.generation() != generation) {
    CheckTables();
  }
  encode(gpu, out);
  if (out.buffer().size() > kMaxOutput) {
    Drain();
  }
}

template <typename Encode>
void TraceWriter::Impl::WithGpuThread(ThreadHandle handle, Encode encode) {
  ThreadSequence* thread = Find(handle);
  if (thread == nullptr) {
    return;
  }
  if (!thread->is_described()) {
    EncodeThread(*thread);  // a track must come before its child tracks
  }
  WithGpu([&](GpuWriter& writer, WireEncoder& encoder) {
    encode(writer, GpuThread{handle.value, thread->process_uuid(), thread->thread_uuid()}, encoder);
  });
}

// Starts a new incremental state when the StackTable was cleared or tables have grown too large.
void TraceWriter::Impl::CheckTables() {
  const bool new_generation = stacks.generation() != generation;
  size_t entries = 0;
  for (auto& thread : threads) {
    if (!thread) {
      continue;
    }
    if (new_generation || thread->entries() > kMaxSequenceEntries) {
      thread->Reset();
    }
    entries += thread->entries();
  }
  for (auto& sequence : calls) {
    if (!sequence) {
      continue;
    }
    if (new_generation || sequence->entries() > kMaxSequenceEntries) {
      sequence->Reset();
    }
    entries += sequence->entries();
  }
  gpu.ResetLargerThan(new_generation ? 0 : kMaxSequenceEntries);
  entries += gpu.entries();
  if (new_generation) {
    names.Clear();
    generation = stacks.generation();
  }
  if (entries > kMaxEntries) {
    ResetTables();
  }
}

void TraceWriter::Impl::ResetTables() {
  for (auto& thread : threads) {
    if (thread) {
      thread->Reset();
    }
  }
  for (auto& sequence : calls) {
    if (sequence) {
      sequence->Reset();
    }
  }
  gpu.Reset();
}

void TraceWriter::Impl::Drain() {
  if (status.has_value() && !out.empty()) {
    status = sink.Write(std::as_bytes(std::span(out.buffer())));
    if (status.has_value()) {
      bytes_written += out.buffer().size();
    }
  }
  out.Clear();
}

TraceWriter::TraceWriter(ByteSink& sink, const StackTable& stacks, const CaptureTask& request,
                         const TraceOrigin& origin)
    : impl_(std::make_unique<Impl>(sink, stacks, origin)) {
  impl_->WriteHeader(request);
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::AddProcess(const ProcessInfo& process) {
  Impl& w = *impl_;
  const uint64_t uuid = ProcessTrackUuid(w.origin, process.pid, process.start_time);
  w.process_uuids[process.pid] = uuid;
  w.Packet(0, [&] {
    w.out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      w.out.Varint(pf::TrackDescriptor::kUuidFieldNumber, uuid);
      w.out.Message(pf::TrackDescriptor::kProcessFieldNumber, [&] { EncodeProcessDescriptor(process, w.out); });
    });
    w.out.Message(trace::kPtraceProfFieldNumber, [&] {
      w.out.Message(trace::Extension::kProcessFieldNumber, [&] { EncodeProcess(process, w.out); });
    });
  });
}

ThreadHandle TraceWriter::AddThread(const ThreadInfo& thread) {
  Impl& w = *impl_;
  if (w.free_handles.empty()) {
    w.free_handles.push_back(static_cast<uint32_t>(w.threads.size()));
    w.threads.emplace_back();
  }
  const uint32_t handle = w.free_handles.back();
  w.free_handles.pop_back();
  w.Use(handle);
  const auto process = w.process_uuids.find(thread.pid);
  w.threads[handle].emplace(thread, process == w.process_uuids.end() ? 0 : process->second, w.NewSequenceId(), w.origin,
                            w.stacks, w.names);
  return ThreadHandle(handle);
}

void TraceWriter::RenameThread(ThreadHandle thread, std::string_view name) {
  if (ThreadSequence* sequence = impl_->Find(thread)) {
    sequence->Rename(name);
  }
}

void TraceWriter::EndThread(ThreadHandle thread, Nanos when) {
  Impl& w = *impl_;
  ThreadSequence* sequence = w.Find(thread);
  if (sequence == nullptr) {
    return;
  }
  w.EncodeThread(*sequence);
  if (thread.value < w.calls.size() && w.calls[thread.value]) {
    w.calls[thread.value]->EncodeEnd(when, w.out);
    w.calls[thread.value].reset();
  }
  w.gpu.EndThread(thread.value);
  sequence->EncodeEnd(when, w.out);
  w.threads[thread.value].reset();
  w.free_handles.push_back(thread.value);
}

void TraceWriter::EndProcess(Pid pid, Nanos when, std::string_view reason) {
  Impl& w = *impl_;
  w.process_uuids.erase(pid);
  w.Packet(0, [&] {
    w.out.Message(trace::kPtraceProfFieldNumber, [&] {
      w.out.Message(trace::Extension::kProcessEndFieldNumber, [&] {
        w.out.SignedVarint(trace::ProcessEnd::kPidFieldNumber, pid.value);
        w.out.SignedVarint(trace::ProcessEnd::kWhenNsFieldNumber, when.value);
        w.out.Bytes(trace::ProcessEnd::kReasonFieldNumber, reason);
      });
    });
  });
}

void TraceWriter::AddSample(ThreadHandle thread, Nanos when, StackId stack, SampleQuality quality) {
  ThreadSequence* sequence = impl_->Find(thread);
  if (sequence == nullptr) {
    return;
  }
  if (sequence->has_locals() || sequence->pending_samples() >= kMaxPendingSamples) {
    impl_->EncodeThread(*sequence);
  }
  sequence->AddSample(when, stack, quality);
}

void TraceWriter::SetState(ThreadHandle thread, Nanos when, const StateInfo& state) {
  ThreadSequence* sequence = impl_->Find(thread);
  if (sequence == nullptr) {
    return;
  }
  if (const uint32_t number = impl_->StateNumber(state); number != sequence->last_state()) {
    sequence->AddState(when, number);
  }
}

void TraceWriter::AddLocals(ThreadHandle thread, uint32_t depth_from_leaf, std::span<const LocalVariable> locals) {
  if (ThreadSequence* sequence = impl_->Find(thread)) {
    sequence->AddLocals(depth_from_leaf, locals);
  }
}

void TraceWriter::BeginCall(ThreadHandle thread, Nanos when, FrameId function, CallEntry entry, GeneratorId generator) {
  impl_->WithCalls(thread, [&](CallSequence& calls) { calls.Begin(when, function, entry, generator, impl_->out); });
}

void TraceWriter::EndCall(ThreadHandle thread, Nanos when, CallExit exit) {
  impl_->WithCalls(thread, [&](CallSequence& calls) { calls.End(when, exit, impl_->out); });
}

void TraceWriter::AddLostCalls(ThreadHandle thread, Nanos from, Nanos to, uint64_t events) {
  impl_->WithCalls(thread, [&](CallSequence& calls) { calls.Lost(from, to, events, impl_->out); });
}

void TraceWriter::BeginStep(ThreadHandle thread, Nanos when, uint64_t number) {
  impl_->WithCalls(thread, [&](CallSequence& calls) { calls.BeginStep(when, number, impl_->out); });
}

void TraceWriter::EndStep(ThreadHandle thread, Nanos when) {
  impl_->WithCalls(thread, [&](CallSequence& calls) { calls.EndStep(when, impl_->out); });
}

void TraceWriter::AddGpuDevice(const GpuDevice& device) {
  Impl& w = *impl_;
  w.gpu.AddDevice(device);
  w.Extension(trace::Extension::kGpuDeviceFieldNumber, [&] { EncodeGpuDevice(device, w.out); });
}

GpuQueueHandle TraceWriter::AddGpuQueue(const GpuQueue& queue) {
  const auto process = impl_->process_uuids.find(queue.pid);
  return impl_->gpu.AddQueue(queue, process == impl_->process_uuids.end() ? 0 : process->second);
}

void TraceWriter::AddGpuOperation(GpuQueueHandle queue, const GpuOperation& operation) {
  impl_->WithGpu([&](GpuWriter& gpu, WireEncoder& out) { gpu.AddOperation(queue, operation, out); });
}

void TraceWriter::AddGpuApiCall(ThreadHandle handle, const GpuApiCall& call) {
  impl_->WithGpuThread(
      handle, [&](GpuWriter& gpu, const GpuThread& thread, WireEncoder& out) { gpu.AddCall(thread, call, out); });
}

void TraceWriter::AddOperator(ThreadHandle handle, const Operator& one) {
  impl_->WithGpuThread(
      handle, [&](GpuWriter& gpu, const GpuThread& thread, WireEncoder& out) { gpu.AddOperator(thread, one, out); });
}

void TraceWriter::AddAllocation(ThreadHandle handle, const Allocation& one) {
  impl_->WithGpuThread(
      handle, [&](GpuWriter& gpu, const GpuThread& thread, WireEncoder& out) { gpu.AddAllocation(thread, one, out); });
}

void TraceWriter::AddGpuAnnotation(ThreadHandle handle, const GpuAnnotation& annotation) {
  impl_->WithGpuThread(handle, [&](GpuWriter& gpu, const GpuThread& thread, WireEncoder& out) {
    gpu.AddAnnotation(thread, annotation, out);
  });
}

void TraceWriter::AddGpuAccounting(const GpuAccounting& accounting) {
  Impl& w = *impl_;
  w.Extension(trace::Extension::kGpuAccountingFieldNumber, [&] { EncodeGpuAccounting(accounting, w.out); });
}

CounterId TraceWriter::AddCounter(const CounterInfo& counter) {
  Impl& w = *impl_;
  const uint64_t group = CounterGroupUuid(w.origin, counter.group);
  if (w.counter_groups.insert(group).second) {
    w.Packet(0, [&] {
      w.out.Message(pf::TracePacket::kTrackDescriptorFieldNumber,
                    [&] { EncodeGroupDescriptor(group, counter.group, w.out); });
    });
  }
  const uint64_t uuid = CounterTrackUuid(group, counter.name);
  w.Packet(0, [&] {
    w.out.Message(pf::TracePacket::kTrackDescriptorFieldNumber,
                  [&] { EncodeCounterDescriptor(uuid, group, counter, w.out); });
    w.out.Message(trace::kPtraceProfFieldNumber, [&] {
      w.out.Message(trace::Extension::kCounterFieldNumber, [&] { EncodeCounter(counter, w.out); });
    });
  });
  w.counter_uuids.push_back(uuid);
  return CounterId(static_cast<uint32_t>(w.counter_uuids.size() - 1));
}

void TraceWriter::AddCount(CounterId counter, Nanos when, int64_t value) {
  Impl& w = *impl_;
  if (counter.value >= w.counter_uuids.size()) {
    return;
  }
  w.Packet(0, [&] {
    w.out.SignedVarint(pf::TracePacket::kTimestampFieldNumber, when.value);
    w.out.Varint(pf::TracePacket::kTimestampClockIdFieldNumber, pf::BUILTIN_CLOCK_MONOTONIC);
    w.out.Message(pf::TracePacket::kTrackEventFieldNumber,
                  [&] { EncodeCount(w.counter_uuids[counter.value], value, w.out); });
  });
}

void TraceWriter::AddProcessEntry(const ProcessEntry& entry) {
  impl_->Extension(trace::Extension::kProcessEntryFieldNumber, [&] { EncodeProcessEntry(entry, impl_->out); });
}

void TraceWriter::AddCheck(const Check& check) {
  impl_->Extension(trace::Extension::kCheckFieldNumber, [&] { EncodeCheck(check, impl_->out); });
}

void TraceWriter::AddNotice(Nanos when, std::string_view text) {
  Impl& w = *impl_;
  w.Extension(trace::Extension::kNoticeFieldNumber, [&] {
    w.out.SignedVarint(trace::Notice::kWhenNsFieldNumber, when.value);
    w.out.Bytes(trace::Notice::kTextFieldNumber, text);
  });
}

void TraceWriter::AddHeldTensor(const HeldTensor& tensor) {
  impl_->Extension(trace::Extension::kHeldTensorsFieldNumber, [&] { EncodeHeldTensor(tensor, impl_->out); });
}

void TraceWriter::AddWindow(const TimeRange& window) {
  impl_->Extension(trace::Extension::kWindowFieldNumber, [&] { EncodeWindow(window, impl_->out); });
}

void TraceWriter::AddExecutionTrace(Pid pid, std::string_view piece) {
  Impl& w = *impl_;
  w.Extension(trace::Extension::kExecutionTraceFieldNumber, [&] { EncodeExecutionTrace({pid, piece}, w.out); });
}

void TraceWriter::SetAccounting(const Accounting& accounting) { impl_->accounting = accounting; }

Result<void> TraceWriter::Flush() {
  Impl& w = *impl_;
  if (++w.flushes % kFlushesPerCheck == 0) {
    w.CheckTables();
  }
  for (const uint32_t handle : w.used) {
    if (auto& thread = w.threads[handle]; thread && thread->has_pending()) {
      w.EncodeThread(*thread);
    }
  }
  w.used.clear();
  w.is_used.assign(w.is_used.size(), false);
  if (w.accounting) {
    w.Packet(0, [&] {
      w.out.Message(trace::kPtraceProfFieldNumber, [&] {
        w.out.Message(trace::Extension::kAccountingFieldNumber, [&] { EncodeAccounting(*w.accounting, w.out); });
      });
    });
    w.accounting.reset();
  }
  w.Drain();
  return w.status;
}

Result<void> TraceWriter::End(Nanos when, const Accounting& accounting, const EndInfo& end) {
  Impl& w = *impl_;
  for (uint32_t handle = 0; handle < w.threads.size(); ++handle) {
    EndThread(ThreadHandle(handle), when);
  }
  w.accounting = accounting;
  PP_RETURN_IF_ERROR(Flush());
  w.Packet(0, [&] {
    w.out.Message(trace::kPtraceProfFieldNumber,
                  [&] { w.out.Message(trace::Extension::kEndFieldNumber, [&] { EncodeEnd(end, when, w.out); }); });
  });
  w.Drain();
  return w.status;
}

uint64_t TraceWriter::bytes_written() const { return impl_->bytes_written; }

}  // namespace ptrace_prof
