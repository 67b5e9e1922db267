#include "daemon/trace/read/trace_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/gpu_codec.h"
#include "daemon/trace/held_tensor_codec.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/piece_codec.h"
#include "daemon/trace/read/call_track.h"
#include "daemon/trace/read/counter_track.h"
#include "daemon/trace/read/gpu_track.h"
#include "daemon/trace/read/packet_framer.h"
#include "daemon/trace/read/reader_vocabulary.h"
#include "daemon/trace/read/sequence_tables.h"
#include "daemon/trace/sequence_clock.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr size_t kMaxSequences = 128 * 1024;  // open at one time
constexpr size_t kMaxThreadName = 1024;
constexpr size_t kMaxNoticeText = 4096;
constexpr uint64_t kQualityBits = 3;

// The fields of a TracePacket that we use.
struct Packet {
  uint64_t timestamp = 0;
  uint32_t sequence = 0;
  uint32_t flags = 0;
  std::string_view clock_snapshot;
  std::string_view track_event;
  std::string_view thread_descriptor;
  std::string_view samples;
  std::string_view track_descriptor;
  std::string_view interned;
  std::string_view defaults;
  std::string_view extension;
};

bool ParsePacket(std::string_view bytes, Packet& packet) {
  WireDecoder decoder(bytes);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::TracePacket::kTimestampFieldNumber: packet.timestamp = field.value; break;
      case pf::TracePacket::kTrustedPacketSequenceIdFieldNumber:
        packet.sequence = static_cast<uint32_t>(field.value);
        break;
      case pf::TracePacket::kSequenceFlagsFieldNumber: packet.flags = static_cast<uint32_t>(field.value); break;
      case pf::TracePacket::kClockSnapshotFieldNumber: packet.clock_snapshot = field.bytes; break;
      case pf::TracePacket::kTrackEventFieldNumber: packet.track_event = field.bytes; break;
      case pf::TracePacket::kThreadDescriptorFieldNumber: packet.thread_descriptor = field.bytes; break;
      case pf::TracePacket::kStreamingProfilePacketFieldNumber: packet.samples = field.bytes; break;
      case pf::TracePacket::kTrackDescriptorFieldNumber: packet.track_descriptor = field.bytes; break;
      case pf::TracePacket::kInternedDataFieldNumber: packet.interned = field.bytes; break;
      case pf::TracePacket::kTracePacketDefaultsFieldNumber: packet.defaults = field.bytes; break;
      case trace::kPtraceProfFieldNumber: packet.extension = field.bytes; break;
      default: break;
    }
  }
  return !decoder.damaged();
}

constexpr char Tag(int field, uint32_t wire_type) {
  return static_cast<char>(static_cast<uint32_t>(field) << 3 | wire_type);
}

// Returns whether a packet has exactly the timestamp, event and sequence, as CallSequence writes them, so that it can
// be skipped without loss for other packets. Without WireDecoder, because there may be twenty million per second.
bool IsBareEvent(std::string_view bytes) {
  size_t at = 0;
  const auto is = [&](char byte) { return at < bytes.size() && bytes[at] == byte; };
  const auto skip_number = [&] {
    while (at < bytes.size() && (bytes[at] & 0x80) != 0) {
      ++at;
    }
    ++at;
  };
  if (!is(Tag(pf::TracePacket::kTimestampFieldNumber, 0))) {
    return false;
  }
  ++at;
  skip_number();
  if (!is(Tag(pf::TracePacket::kTrackEventFieldNumber, 2)) || ++at >= bytes.size() || (bytes[at] & 0x80) != 0) {
    return false;
  }
  at += 1 + static_cast<size_t>(bytes[at]);
  if (!is(Tag(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, 0))) {
    return false;
  }
  ++at;
  skip_number();
  return at == bytes.size();
}

// One field of a message, the last one if there are several.
WireField Get(std::string_view message, int number) {
  WireField found;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (field.number == static_cast<uint32_t>(number)) {
      found = field;
    }
  }
  return found;
}

Error NotATrace() {
  return Because(Reason::kNotATrace, "this is not a ptrace-prof trace: it does not begin with the header of one",
                 "give a .pftrace written by ptrace-prof");
}

// Sums of hostile deltas wrap around instead of overflowing.
int64_t Add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
Nanos Times(int64_t count, int64_t unit_ns) {
  return Nanos(static_cast<int64_t>(static_cast<uint64_t>(count) * static_cast<uint64_t>(unit_ns)));
}
Nanos FromMicros(int64_t us) { return Times(us, 1000); }

bool SameThread(const ThreadInfo& a, const ThreadInfo& b) {
  return a.pid == b.pid && a.tid == b.tid && a.ns_tid == b.ns_tid && a.name == b.name &&
         a.python_ident == b.python_ident && a.interpreter_id == b.interpreter_id && a.is_main == b.is_main;
}

}  // namespace

// A packet sequence: about one thread, once its track descriptor was seen, or about the calls of one.
struct TraceReader::Sequence {
  explicit Sequence(ReaderVocabulary& vocabulary) : tables(vocabulary), gpu(vocabulary) {}

  SequenceTables tables;
  bool valid = false;  // its state was cleared once, so that ids are defined
  bool has_thread = false;
  TrackId track;
  uint64_t track_uuid = 0;
  ThreadInfo thread;
  CallTrack calls;          // assigned: this is a sequence of calls
  GpuTrack gpu;             // assigned: this is a sequence of GPU events
  int64_t clock = 0;        // current value of the sequence's incremental clock, in its units
  int64_t clock_ns = 1000;  // one unit of it
  int64_t sample_us = 0;
  bool slice_ended = false;  // it is not known yet whether another slice follows at once
};

struct TraceReader::Impl {
  explicit Impl(TraceVisitor& visitor_in) : visitor(visitor_in) {}

  Result<void> OnPacket(std::string_view bytes);
  Sequence* SequenceOf(const Packet& packet);
  void OnHeader(std::string_view header);
  void OnTrackDescriptor(const Packet& packet, Sequence& sequence);
  void OnProcess(std::string_view descriptor, std::string_view extra);
  void OnThread(uint64_t uuid, std::string_view descriptor, std::string_view extra, Sequence& sequence);
  void OnClock(std::string_view snapshot, Sequence& sequence);
  std::optional<TrackId> ThreadOf(uint64_t uuid) const;
  void OnDefaults(std::string_view defaults, Sequence& sequence);
  void OnTrackEvent(const Packet& packet, Sequence& sequence);
  void OnSliceEnd(const Packet& next, Sequence& sequence);
  void OnGpuTrack(std::string_view message, GpuTrack& track);
  void OnSamples(const Packet& packet, Sequence& sequence);
  void OnLocals(std::string_view extension, const Sequence& sequence);
  void OnNotice(std::string_view message);
  void OnExtension(const Packet& packet);
  void EndSequence(uint32_t id);

  TraceVisitor& visitor;
  ReaderVocabulary vocabulary;
  PacketFramer framer;
  std::unordered_map<uint32_t, Sequence> sequences;
  CounterTracks counters;
  // The uuid of a thread's track, with the sequences about that thread that have not ended. If the collector lost a
  // thread briefly, it has two sequences for a while.
  std::set<std::pair<uint64_t, uint32_t>> threads;
  std::unordered_map<uint64_t, GpuQueueId> gpu_queues;
  uint32_t next_track = 0;
  bool is_ours = false;
  bool passes_over_events = false;
  Result<void> status;
  std::vector<int64_t> deltas;  // scratch
  std::vector<LocalVariable> locals;
};

Result<void> TraceReader::Impl::OnPacket(std::string_view bytes) {
  Packet packet;
  if (!ParsePacket(bytes, packet)) {
    vocabulary.Skip();
    return {};
  }
  if (!is_ours) {
    if (Get(packet.extension, trace::Extension::kHeaderFieldNumber).bytes.empty()) {
      return NotATrace();
    }
    is_ours = true;
  }
  Sequence* sequence = SequenceOf(packet);
  if (sequence == nullptr) {
    vocabulary.Skip();
    return {};
  }
  OnSliceEnd(packet, *sequence);
  if (packet.flags & pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
    sequence->tables.Clear();
    sequence->gpu.Clear();
    sequence->valid = true;
  }
  if (!sequence->valid) {
    vocabulary.Skip();
    return {};
  }
  sequence->tables.Define(packet.interned, packet.extension);
  if (const auto gpu = Get(packet.extension, trace::Extension::kGpuTrackFieldNumber).bytes; !gpu.empty()) {
    OnGpuTrack(gpu, sequence->gpu);
  }
  if (sequence->gpu.is_assigned()) {
    sequence->gpu.Define(packet.interned, packet.extension, sequence->tables);
  }
  if (!packet.clock_snapshot.empty()) {
    OnClock(packet.clock_snapshot, *sequence);
  }
  if (!packet.defaults.empty()) {
    OnDefaults(packet.defaults, *sequence);
  }
  if (!packet.track_descriptor.empty()) {
    OnTrackDescriptor(packet, *sequence);
  }
  if (!packet.thread_descriptor.empty()) {
    sequence->sample_us =
        Get(packet.thread_descriptor, pf::ThreadDescriptor::kReferenceTimestampUsFieldNumber).AsSigned();
  }
  if (!packet.track_event.empty()) {
    OnTrackEvent(packet, *sequence);
  }
  if (!packet.samples.empty()) {
    OnSamples(packet, *sequence);
  }
  if (!packet.extension.empty()) {
    OnLocals(packet.extension, *sequence);
    OnExtension(packet);  // may end the sequence
  }
  return {};
}

TraceReader::Sequence* TraceReader::Impl::SequenceOf(const Packet& packet) {
  if (const auto known = sequences.find(packet.sequence); known != sequences.end()) {
    return &known->second;
  }
  if (packet.sequence == 0 || sequences.size() >= kMaxSequences) {
    return nullptr;
  }
  return &sequences.try_emplace(packet.sequence, vocabulary).first->second;
}

void TraceReader::Impl::OnHeader(std::string_view header) {
  std::string_view task;
  Nanos realtime;
  Nanos monotonic;
  WireDecoder decoder(header);
  for (WireField field; decoder.Next(field);) {
    if (field.number == trace::Header::kTaskFieldNumber) {
      task = field.bytes;
    } else if (field.number == trace::Header::kStartRealtimeNsFieldNumber) {
      realtime.value = field.AsSigned();
    } else if (field.number == trace::Header::kStartMonotonicNsFieldNumber) {
      monotonic.value = field.AsSigned();
    }
  }
  visitor.OnStart(realtime, monotonic);
  if (CaptureTask asked; asked.ParseFromArray(task.data(), static_cast<int>(task.size())) && IsPrintable(asked)) {
    visitor.OnRequest(asked);
  } else {
    vocabulary.Skip();
  }
}

void TraceReader::Impl::OnTrackDescriptor(const Packet& packet, Sequence& sequence) {
  const uint64_t uuid = Get(packet.track_descriptor, pf::TrackDescriptor::kUuidFieldNumber).value;
  const auto process = Get(packet.track_descriptor, pf::TrackDescriptor::kProcessFieldNumber).bytes;
  const auto thread = Get(packet.track_descriptor, pf::TrackDescriptor::kThreadFieldNumber).bytes;
  if (!process.empty()) {
    OnProcess(process, Get(packet.extension, trace::Extension::kProcessFieldNumber).bytes);
  }
  if (const auto counter = Get(packet.extension, trace::Extension::kCounterFieldNumber).bytes; !counter.empty()) {
    counters.OnDescriptor(uuid, counter, vocabulary, visitor);
  }
  if (!thread.empty()) {
    OnThread(uuid, thread, Get(packet.extension, trace::Extension::kThreadFieldNumber).bytes, sequence);
  }
}

void TraceReader::Impl::OnProcess(std::string_view descriptor, std::string_view extra) {
  if (!vocabulary.Describe(descriptor.size() + extra.size())) {
    return;
  }
  ProcessInfo info;
  DecodeProcessDescriptor(descriptor, info);
  DecodeProcess(extra, info);
  visitor.OnProcess(info);
}

void TraceReader::Impl::OnThread(uint64_t uuid, std::string_view descriptor, std::string_view extra,
                                 Sequence& sequence) {
  ThreadInfo info;
  DecodeThreadDescriptor(descriptor, info);
  DecodeThread(extra, info);
  info.name.resize(std::min(info.name.size(), kMaxThreadName));
  info.name.shrink_to_fit();
  const bool same_track = sequence.has_thread && sequence.track_uuid == uuid;
  if (same_track && SameThread(info, sequence.thread)) {
    return;  // repeated after the sequence's state was cleared
  }
  if (!vocabulary.Describe(info.name.size())) {
    sequence.has_thread = false;
    return;
  }
  if (!same_track) {
    threads.erase({sequence.track_uuid, sequence.track.value});
    sequence.track = TrackId(next_track++);
  }
  sequence.has_thread = true;
  sequence.track_uuid = uuid;
  threads.emplace(uuid, sequence.track.value);
  sequence.thread = std::move(info);
  visitor.OnThread(sequence.track, sequence.thread);
}

void TraceReader::Impl::OnClock(std::string_view snapshot, Sequence& sequence) {
  using Clock = pf::ClockSnapshot::Clock;
  WireDecoder decoder(snapshot);
  for (WireField field; decoder.Next(field);) {
    if (field.number == pf::ClockSnapshot::kClocksFieldNumber &&
        Get(field.bytes, Clock::kClockIdFieldNumber).value == kSequenceClock) {
      sequence.clock = Get(field.bytes, Clock::kTimestampFieldNumber).AsSigned();
      sequence.clock_ns = Get(field.bytes, Clock::kUnitMultiplierNsFieldNumber).value == 1000 ? 1000 : 1;
    }
  }
}

// The thread described last.
std::optional<TrackId> TraceReader::Impl::ThreadOf(uint64_t uuid) const {
  const auto after = threads.upper_bound({uuid, UINT32_MAX});
  if (after == threads.begin() || std::prev(after)->first != uuid) {
    return std::nullopt;
  }
  return TrackId(std::prev(after)->second);
}

// A sequence whose default track is a thread's own is a sequence of its calls.
void TraceReader::Impl::OnDefaults(std::string_view defaults, Sequence& sequence) {
  const auto events = Get(defaults, pf::TracePacketDefaults::kTrackEventDefaultsFieldNumber).bytes;
  const auto thread = ThreadOf(Get(events, pf::TrackEventDefaults::kTrackUuidFieldNumber).value);
  if (thread.has_value()) {
    sequence.calls.Assign(*thread);
  } else {
    sequence.calls = CallTrack();
  }
}

// Sets what the sequence is about: a queue, or the calls of a thread. A queue is repeated after the sequence's state
// was cleared, and by each sequence about it.
void TraceReader::Impl::OnGpuTrack(std::string_view message, GpuTrack& track) {
  const Nanos base(Get(message, trace::GpuTrack::kBaseNsFieldNumber).AsSigned());
  const uint64_t uuid = Get(message, trace::GpuTrack::kQueueUuidFieldNumber).value;
  if (uuid == 0) {
    const auto thread = ThreadOf(Get(message, trace::GpuTrack::kThreadUuidFieldNumber).value);
    if (thread.has_value()) {
      track.Assign(*thread, base);
    }
    return;
  }
  auto queue = gpu_queues.find(uuid);
  if (queue == gpu_queues.end()) {
    if (!vocabulary.Describe(message.size())) {
      return;
    }
    queue = gpu_queues.emplace(uuid, GpuQueueId(static_cast<uint32_t>(gpu_queues.size()))).first;
    visitor.OnGpuQueue(queue->second, DecodeGpuQueue(message));
  }
  track.Assign(queue->second, base);
}

void TraceReader::Impl::OnTrackEvent(const Packet& packet, Sequence& sequence) {
  if (sequence.gpu.is_assigned()) {
    if (!passes_over_events) {
      sequence.gpu.OnTrackEvent(packet.track_event, packet.timestamp, visitor);
    }
    return;
  }
  sequence.clock = Add(sequence.clock, static_cast<int64_t>(packet.timestamp));
  if (sequence.calls.is_assigned()) {
    sequence.calls.OnTrackEvent(packet.track_event, Times(sequence.clock, sequence.clock_ns), sequence.tables,
                                vocabulary, visitor);
    return;
  }
  const uint64_t type = Get(packet.track_event, pf::TrackEvent::kTypeFieldNumber).value;
  if (type == pf::TrackEvent::TYPE_COUNTER) {  // without a sequence clock: host time
    if (!counters.OnEvent(packet.track_event, Nanos(static_cast<int64_t>(packet.timestamp)), visitor)) {
      vocabulary.Skip();
    }
    return;
  }
  if (!sequence.has_thread || (type != pf::TrackEvent::TYPE_SLICE_BEGIN && type != pf::TrackEvent::TYPE_SLICE_END)) {
    vocabulary.Skip();
    return;
  }
  if (type == pf::TrackEvent::TYPE_SLICE_END) {
    sequence.slice_ended = true;
    return;
  }
  const auto state = sequence.tables.State(Get(packet.track_event, pf::TrackEvent::kNameIidFieldNumber).value);
  if (!state) {
    vocabulary.Skip();
    return;
  }
  visitor.OnState(sequence.track, Times(sequence.clock, sequence.clock_ns), *state);
}

// A slice that ends where another begins is a change of state; one that just ends leaves the state unknown.
void TraceReader::Impl::OnSliceEnd(const Packet& next, Sequence& sequence) {
  if (!sequence.slice_ended) {
    return;
  }
  sequence.slice_ended = false;
  const bool begins = Get(next.track_event, pf::TrackEvent::kTypeFieldNumber).value == pf::TrackEvent::TYPE_SLICE_BEGIN;
  if (!begins || next.timestamp != 0) {
    visitor.OnState(sequence.track, Times(sequence.clock, sequence.clock_ns), StateInfo{});
  }
}

void TraceReader::Impl::OnSamples(const Packet& packet, Sequence& sequence) {
  deltas.clear();
  WireField field;
  for (WireDecoder decoder(packet.samples); decoder.Next(field);) {
    if (field.number == pf::StreamingProfilePacket::kTimestampDeltaUsFieldNumber) {
      deltas.push_back(field.AsSigned());
    }
  }
  // The index and quality of the next sample that is not kSeen.
  WireDecoder extension(packet.extension);
  WireDecoder marks({});
  const auto next_mark = [&]() -> uint64_t {
    for (WireField mark;;) {
      if (marks.Next(mark)) {
        return mark.value;
      }
      do {
        if (!extension.Next(mark)) {
          return UINT64_MAX;
        }
      } while (mark.number != trace::Extension::kMarksFieldNumber);
      marks = WireDecoder(mark.bytes);
    }
  };
  uint64_t mark = next_mark();
  uint64_t unmarked = 0;
  size_t index = 0;
  for (WireDecoder decoder(packet.samples); decoder.Next(field);) {
    if (field.number != pf::StreamingProfilePacket::kCallstackIidFieldNumber) {
      continue;
    }
    if (index >= deltas.size()) {
      vocabulary.Skip();
      break;
    }
    sequence.sample_us = Add(sequence.sample_us, deltas[index++]);
    SampleQuality quality = SampleQuality::kSeen;
    if (mark != UINT64_MAX && unmarked == mark >> kQualityBits) {
      const uint64_t value = mark & ((1 << kQualityBits) - 1);
      quality = value < kSampleQualityCount ? static_cast<SampleQuality>(value) : SampleQuality::kTruncated;
      mark = next_mark();
      unmarked = 0;
    } else {
      ++unmarked;
    }
    const std::optional<StackId> stack = sequence.tables.Callstack(field.value);
    if (!stack || !sequence.has_thread) {
      vocabulary.Skip();
      continue;
    }
    visitor.OnSample(sequence.track, FromMicros(sequence.sample_us), *stack, quality);
  }
}

void TraceReader::Impl::OnLocals(std::string_view extension, const Sequence& sequence) {
  WireDecoder decoder(extension);
  for (WireField field; decoder.Next(field);) {
    if (field.number == trace::Extension::kLocalsFieldNumber && sequence.has_thread) {
      const uint32_t depth = DecodeLocals(field.bytes, locals);
      visitor.OnLocals(sequence.track, depth, locals);
    }
  }
}

void TraceReader::Impl::OnNotice(std::string_view message) {
  Nanos when;
  std::string_view text;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Notice::kWhenNsFieldNumber: when.value = field.AsSigned(); break;
      case trace::Notice::kTextFieldNumber: text = field.bytes.substr(0, kMaxNoticeText); break;
      default: break;
    }
  }
  visitor.OnNotice(when, text);
}

void TraceReader::Impl::OnExtension(const Packet& packet) {
  WireDecoder decoder(packet.extension);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Extension::kHeaderFieldNumber: OnHeader(field.bytes); break;
      case trace::Extension::kProcessEntryFieldNumber:
        if (vocabulary.Describe(field.bytes.size())) {
          visitor.OnProcessEntry(DecodeProcessEntry(field.bytes));
        }
        break;
      case trace::Extension::kCheckFieldNumber:
        if (vocabulary.Describe(field.bytes.size())) {
          visitor.OnCheck(DecodeCheck(field.bytes));
        }
        break;
      case trace::Extension::kGpuDeviceFieldNumber:
        if (vocabulary.Describe(field.bytes.size())) {
          visitor.OnGpuDevice(DecodeGpuDevice(field.bytes));
        }
        break;
      case trace::Extension::kGpuAccountingFieldNumber:
        visitor.OnGpuAccounting(DecodeGpuAccounting(field.bytes));
        break;
      case trace::Extension::kNoticeFieldNumber: OnNotice(field.bytes); break;
      case trace::Extension::kHeldTensorsFieldNumber: visitor.OnHeldTensor(DecodeHeldTensor(field.bytes)); break;
      case trace::Extension::kWindowFieldNumber: visitor.OnWindow(DecodeWindow(field.bytes)); break;
      case trace::Extension::kExecutionTraceFieldNumber: {
        const ExecutionTracePiece piece = DecodeExecutionTrace(field.bytes);
        visitor.OnExecutionTrace(piece.pid, piece.text);
        break;
      }
      case trace::Extension::kAccountingFieldNumber: visitor.OnAccounting(DecodeAccounting(field.bytes)); break;
      case trace::Extension::kEndFieldNumber: visitor.OnEnd(DecodeEnd(field.bytes)); break;
      case trace::Extension::kThreadEndFieldNumber: EndSequence(packet.sequence); break;
      default: break;
    }
  }
}

void TraceReader::Impl::EndSequence(uint32_t id) {
  const auto sequence = sequences.find(id);
  if (sequence == sequences.end()) {
    return;
  }
  threads.erase({sequence->second.track_uuid, sequence->second.track.value});
  sequences.erase(sequence);
}

TraceReader::TraceReader(TraceVisitor& visitor) : impl_(std::make_unique<Impl>(visitor)) {}
TraceReader::~TraceReader() = default;

Result<void> TraceReader::Feed(std::span<const std::byte> bytes) {
  Impl& reader = *impl_;
  if (reader.status.has_value()) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    reader.status = reader.framer.Feed(text, [&](std::string_view packet) {
      return reader.passes_over_events && IsBareEvent(packet) ? Result<void>() : reader.OnPacket(packet);
    });
    if (reader.status.has_error() && !reader.is_ours) {  // it is not a damaged trace but another file
      reader.status = NotATrace();
    }
  }
  return reader.status;
}

void TraceReader::PassOverEvents() { impl_->passes_over_events = true; }

const StackTable& TraceReader::stacks() const { return impl_->vocabulary.stacks(); }
bool TraceReader::mid_packet() const { return impl_->framer.mid_packet(); }
uint64_t TraceReader::skipped() const { return impl_->vocabulary.skipped(); }

}  // namespace ptrace_prof
