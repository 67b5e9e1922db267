#include "daemon/trace/write/call_sequence.h"

#include <algorithm>
#include <cstring>

#include "attach/base/base_name.h"
#include "daemon/trace/call_vocabulary.h"
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/frame_kind.h"
#include "daemon/trace/id_index.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/sequence_clock.h"
#include "daemon/trace/write/cut_name.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

// "train (train.py:12)": distinguishes functions at a glance.
std::string NameOf(const Frame& frame) {
  std::string name(CutName(frame.function.empty() ? std::string_view("<unnamed>") : std::string_view(frame.function)));
  if (frame.kind != FrameKind::kPython || frame.file.empty()) {
    return name;
  }
  name += " (";
  name += CutName(BaseName(frame.file));
  if (frame.first_line > 0) {
    name += ":";
    name += std::to_string(frame.first_line);
  }
  return name + ")";
}

}  // namespace

// A small message being built: shorter than 128 bytes, so that lengths are one byte.
struct CallSequence::Fields {
  uint8_t bytes[128];
  size_t size = 0;

  void Byte(uint8_t byte) { bytes[size++] = byte; }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      Byte(static_cast<uint8_t>(value | 0x80));
    }
    Byte(static_cast<uint8_t>(value));
  }
};

// A packet with one TrackEvent, built from front to back.
struct CallSequence::Event : Fields {
  Event(CallSequence& sequence, Nanos when, pf::TrackEvent::Type type) {
    Byte(LengthTag(pf::Trace::kPacketFieldNumber));
    Byte(0);
    Byte(VarintTag(pf::TracePacket::kTimestampFieldNumber));
    Varint(sequence.Delta(when));
    Byte(LengthTag(pf::TracePacket::kTrackEventFieldNumber));
    event_at = size + 1;
    Byte(0);
    Byte(VarintTag(pf::TrackEvent::kTypeFieldNumber));
    Byte(static_cast<uint8_t>(type));
  }
  void Name(uint32_t iid) {
    Byte(VarintTag(pf::TrackEvent::kNameIidFieldNumber));
    Varint(iid);
  }
  void Category(uint32_t iid) {
    Byte(VarintTag(pf::TrackEvent::kCategoryIidsFieldNumber));
    Varint(iid);
  }
  void Track(uint64_t uuid) {
    Byte(VarintTag(pf::TrackEvent::kTrackUuidFieldNumber));
    Varint(uuid);
  }
  void Flow(uint64_t id) {
    constexpr uint32_t kFixed64 = 1;
    Varint(static_cast<uint32_t>(pf::TrackEvent::kFlowIdsFieldNumber) << 3 | kFixed64);
    for (int shift = 0; shift < 64; shift += 8) {
      Byte(static_cast<uint8_t>(id >> shift));
    }
  }
  void Note(uint32_t iid, int field, uint64_t value) {
    Fields note;
    note.Byte(VarintTag(pf::DebugAnnotation::kNameIidFieldNumber));
    note.Varint(iid);
    note.Byte(VarintTag(field));
    note.Varint(value);
    Byte(LengthTag(pf::TrackEvent::kDebugAnnotationsFieldNumber));
    Byte(static_cast<uint8_t>(note.size));
    std::memcpy(bytes + size, note.bytes, note.size);
    size += note.size;
  }

  size_t event_at;
};

CallSequence::CallSequence(uint64_t process_uuid, uint64_t thread_uuid, uint32_t sequence_id, const TraceOrigin& origin,
                           const StackTable& stacks)
    : flow_seed_(process_uuid), thread_uuid_(thread_uuid), origin_(origin), stacks_(stacks) {
  WireEncoder tail;
  tail.Varint(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_id);
  tail_ = tail.buffer();
}

template <typename Fill>
void CallSequence::Packet(WireEncoder& out, uint32_t flags, Fill fill) const {
  out.Message(pf::Trace::kPacketFieldNumber, [&] {
    fill();
    out.buffer().append(tail_);
    out.VarintIfSet(pf::TracePacket::kSequenceFlagsFieldNumber, flags);
  });
}

void CallSequence::EncodePreamble(Nanos when, WireEncoder& out) {
  described_ = true;
  clock_ = std::max(clock_, when.value);
  using Clock = pf::ClockSnapshot::Clock;
  Packet(out, pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED, [&] {
    out.Message(pf::TracePacket::kClockSnapshotFieldNumber, [&] {
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, pf::BUILTIN_CLOCK_MONOTONIC);
        out.SignedVarint(Clock::kTimestampFieldNumber, clock_);
      });
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, kSequenceClock);
        out.SignedVarint(Clock::kTimestampFieldNumber, clock_);
        out.Varint(Clock::kIsIncrementalFieldNumber, 1);
        out.Varint(Clock::kUnitMultiplierNsFieldNumber, 1);
      });
    });
    out.Message(pf::TracePacket::kTracePacketDefaultsFieldNumber, [&] {
      out.Varint(pf::TracePacketDefaults::kTimestampClockIdFieldNumber, kSequenceClock);
      out.Message(pf::TracePacketDefaults::kTrackEventDefaultsFieldNumber,
                  [&] { out.Varint(pf::TrackEventDefaults::kTrackUuidFieldNumber, thread_uuid_); });
    });
    out.Message(pf::TracePacket::kInternedDataFieldNumber, [&] { DefineMarks(out); });
  });
}

void CallSequence::DefineMarks(WireEncoder& out) const {
  for (uint32_t iid = 1; iid < kEntryCategories.size(); ++iid) {
    out.Message(pf::InternedData::kEventCategoriesFieldNumber, [&] {
      out.Varint(pf::EventCategory::kIidFieldNumber, iid);
      out.Bytes(pf::EventCategory::kNameFieldNumber, kEntryCategories[iid]);
    });
  }
  for (uint32_t iid = 1; iid <= kLostCountNote; ++iid) {
    out.Message(pf::InternedData::kDebugAnnotationNamesFieldNumber, [&] {
      out.Varint(pf::DebugAnnotationName::kIidFieldNumber, iid);
      out.Bytes(pf::DebugAnnotationName::kNameFieldNumber,
                iid == kLostCountNote ? kLostCountName : kExitNotes[iid].name);
    });
  }
}

uint32_t CallSequence::NameIid(FrameId function, WireEncoder& out) {
  if (function.value >= iid_of_function_.size()) {
    iid_of_function_.resize(std::max<size_t>(function.value + 1, stacks_.frame_count()));
  }
  uint32_t& iid = iid_of_function_[function.value];
  if (iid == 0) {
    const Frame& frame = stacks_.frame(function);
    iid = DefineName(NameOf(frame), frame, out);
  }
  return iid;
}

uint32_t CallSequence::DefineName(std::string_view name, const Frame& frame, WireEncoder& out) {
  const uint32_t iid = ++names_;
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kInternedDataFieldNumber, [&] {
      out.Message(pf::InternedData::kEventNamesFieldNumber, [&] {
        out.Varint(pf::EventName::kIidFieldNumber, iid);
        out.Bytes(pf::EventName::kNameFieldNumber, name);
      });
      out.Message(pf::InternedData::kSourceLocationsFieldNumber, [&] {
        out.Varint(pf::SourceLocation::kIidFieldNumber, iid);
        out.StringIfSet(pf::SourceLocation::kFileNameFieldNumber, CutName(frame.file));
        out.Bytes(pf::SourceLocation::kFunctionNameFieldNumber, CutName(frame.function));
        out.VarintIfSet(pf::SourceLocation::kLineNumberFieldNumber,
                        static_cast<uint64_t>(std::max(frame.first_line, 0)));
      });
    });
    if (frame.kind != FrameKind::kPython) {
      out.Message(trace::kPtraceProfFieldNumber, [&] {
        out.Message(trace::Extension::kCalledFieldNumber, [&] {
          out.Varint(trace::CalledExtra::kIidFieldNumber, iid);
          out.Varint(trace::CalledExtra::kKindFieldNumber, WireKindOf(frame.kind));
        });
      });
    }
  });
  return iid;
}

uint64_t CallSequence::Delta(Nanos when) {
  const int64_t delta = std::max<int64_t>(0, when.value - clock_);
  clock_ += delta;
  return static_cast<uint64_t>(delta);
}

// These packets are many, so they omit the flag of needing incremental state: a reader that missed the state must skip
// track events anyway.
void CallSequence::Append(Event& event, WireEncoder& out) const {
  event.bytes[event.event_at - 1] = static_cast<uint8_t>(event.size - event.event_at);
  std::memcpy(event.bytes + event.size, tail_.data(), tail_.size());
  event.size += tail_.size();
  event.bytes[1] = static_cast<uint8_t>(event.size - 2);
  out.buffer().append(reinterpret_cast<const char*>(event.bytes), event.size);
}

// Level 0 is the thread's own track, so the uuid that level 0 would have is used for the track of the steps.
uint64_t CallSequence::LevelUuid(uint32_t level) const { return StateTrackUuid(origin_, thread_uuid_ ^ (level + 1)); }

void CallSequence::Describe(uint64_t uuid, std::string_view name, WireEncoder& out) const {
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      out.Varint(pf::TrackDescriptor::kUuidFieldNumber, uuid);
      out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, thread_uuid_);
      out.Bytes(pf::TrackDescriptor::kNameFieldNumber, name);
    });
  });
}

// Puts the slice with `depth` others below it on the track of its level.
void CallSequence::Place(uint32_t depth, Event& event, WireEncoder& out) {
  const uint32_t level = depth / kLevelDepth;
  if (level == 0) {
    return;
  }
  for (; levels_described_ < level; ++levels_described_) {
    Describe(LevelUuid(levels_described_ + 1),
             "calls from depth " + std::to_string((levels_described_ + 1) * kLevelDepth), out);
  }
  event.Track(LevelUuid(level));
}

void CallSequence::Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(when, out);
  }
  const uint32_t name = NameIid(function, out);
  Event event(*this, when, pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Name(name);
  if (entry != CallEntry::kCall) {
    event.Category(static_cast<uint32_t>(entry));
  }
  if (generator.value != 0) {
    event.Flow(MixBits(flow_seed_ ^ generator.value) | 1);  // 0 would mean no flow
  }
  Place(open_++, event, out);
  Append(event, out);
}

void CallSequence::End(Nanos when, CallExit exit, WireEncoder& out) {
  if (open_ == 0) {
    return;
  }
  if (!described_) {
    EncodePreamble(when, out);
  }
  --open_;
  Event event(*this, when, pf::TrackEvent::TYPE_SLICE_END);
  if (exit != CallExit::kReturn) {
    const auto iid = static_cast<uint32_t>(exit);
    event.Note(iid, pf::DebugAnnotation::kBoolValueFieldNumber, kExitNotes[iid].value ? 1 : 0);
  }
  Place(open_, event, out);
  Append(event, out);
}

void CallSequence::Lost(Nanos from, Nanos to, uint64_t count, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(from, out);
  }
  uint32_t& iid = count > 0 ? lost_iid_ : held_iid_;
  if (iid == 0) {
    Frame marker;
    marker.function = count > 0 ? kLostMarker : kHeldMarker;
    marker.kind = FrameKind::kMarker;
    iid = DefineName(marker.function, marker, out);
  }
  Event event(*this, from, pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Name(iid);
  event.Category(static_cast<uint32_t>(CallEntry::kGap));
  event.Note(kLostCountNote, pf::DebugAnnotation::kUintValueFieldNumber, count);
  Place(open_++, event, out);
  Append(event, out);
  End(to, CallExit::kReturn, out);
}

void CallSequence::BeginStep(Nanos when, uint64_t number, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(when, out);
  }
  if (!steps_described_) {
    steps_described_ = true;
    Describe(LevelUuid(0), "steps", out);
  }
  EndStep(when, out);
  step_open_ = true;
  Packet(out, pf::TracePacket::SEQ_UNSPECIFIED, [&] {
    out.Varint(pf::TracePacket::kTimestampFieldNumber, Delta(when));
    out.Message(pf::TracePacket::kTrackEventFieldNumber, [&] {
      out.Varint(pf::TrackEvent::kTypeFieldNumber, pf::TrackEvent::TYPE_SLICE_BEGIN);
      out.Varint(pf::TrackEvent::kTrackUuidFieldNumber, LevelUuid(0));
      out.Bytes(pf::TrackEvent::kNameFieldNumber, std::string(kStepPrefix) + std::to_string(number));
    });
  });
}

void CallSequence::EndStep(Nanos when, WireEncoder& out) {
  if (!step_open_) {
    return;
  }
  step_open_ = false;
  Event event(*this, when, pf::TrackEvent::TYPE_SLICE_END);
  event.Track(LevelUuid(0));
  Append(event, out);
}

void CallSequence::EncodeEnd(Nanos when, WireEncoder& out) {
  while (open_ > 0) {
    End(when, CallExit::kCut, out);
  }
  EndStep(when, out);
  if (!described_) {
    return;
  }
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(trace::kPtraceProfFieldNumber, [&] {
      out.Message(trace::Extension::kThreadEndFieldNumber,
                  [&] { out.SignedVarint(trace::ThreadEnd::kWhenNsFieldNumber, when.value); });
    });
  });
}

void CallSequence::Reset() {
  iid_of_function_.clear();
  names_ = 0;
  lost_iid_ = held_iid_ = 0;
  described_ = false;
  steps_described_ = false;
  levels_described_ = 0;
}

}  // namespace ptrace_prof
