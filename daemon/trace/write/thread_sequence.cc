#include "daemon/trace/write/thread_sequence.h"

#include <algorithm>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/sequence_clock.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr size_t kMaxDefinitionBytes = 256 * 1024;  // of one packet

}  // namespace

ThreadSequence::ThreadSequence(const ThreadInfo& info, uint64_t process_uuid, uint32_t sequence_id,
                               const TraceOrigin& origin, const StackTable& stacks, FrameNames& names)
    : info_(info),
      process_uuid_(process_uuid),
      thread_uuid_(ThreadTrackUuid(process_uuid, info.tid)),
      state_uuid_(StateTrackUuid(origin, thread_uuid_)),
      sequence_id_(sequence_id),
      start_us_(origin.monotonic.value / 1000),
      interner_(stacks, names) {}

template <typename Fill>
void ThreadSequence::Packet(WireEncoder& out, uint32_t flags, Fill fill) {
  out.Message(pf::Trace::kPacketFieldNumber, [&] {
    fill();
    out.Varint(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_id_);
    out.VarintIfSet(pf::TracePacket::kSequenceFlagsFieldNumber, flags);
  });
}

void ThreadSequence::AddLocals(uint32_t depth_from_leaf, std::span<const LocalVariable> locals) {
  locals_.Message(trace::Extension::kLocalsFieldNumber, [&] { EncodeLocals(depth_from_leaf, locals, locals_); });
}

void ThreadSequence::Rename(std::string_view name) {
  info_.name = name;
  if (described_ == Described::kDone) {
    described_ = Described::kOldName;
  }
}

void ThreadSequence::Encode(const std::vector<StateInfo>& state_infos, WireEncoder& out) {
  if (described_ == Described::kNot) {
    EncodePreamble(out);
  } else if (described_ == Described::kOldName) {
    EncodeTrack(out);
  }
  described_ = Described::kDone;
  EncodeStates(state_infos, out);
  EncodeSamples(out);
}

int64_t ThreadSequence::FirstPendingTime() const {
  const int64_t sample = samples_.empty() ? INT64_MAX : samples_.front().when_us;
  const int64_t state = states_.empty() ? INT64_MAX : states_.front().when_us;
  return samples_.empty() && states_.empty() ? start_us_ : std::min(sample, state);
}

// Written first on a sequence, and again after its state was cleared.
void ThreadSequence::EncodePreamble(WireEncoder& out) {
  if (clock_us_ == 0) {
    clock_us_ = FirstPendingTime();
    sample_us_ = clock_us_;
  }
  using Clock = pf::ClockSnapshot::Clock;
  Packet(out, pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED, [&] {
    out.Message(pf::TracePacket::kClockSnapshotFieldNumber, [&] {
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, pf::BUILTIN_CLOCK_MONOTONIC);
        out.SignedVarint(Clock::kTimestampFieldNumber, clock_us_ * 1000);
      });
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, kSequenceClock);
        out.SignedVarint(Clock::kTimestampFieldNumber, clock_us_);
        out.Varint(Clock::kIsIncrementalFieldNumber, 1);
        out.Varint(Clock::kUnitMultiplierNsFieldNumber, 1000);
      });
    });
    out.Message(pf::TracePacket::kTracePacketDefaultsFieldNumber, [&] {
      out.Varint(pf::TracePacketDefaults::kTimestampClockIdFieldNumber, kSequenceClock);
      out.Message(pf::TracePacketDefaults::kTrackEventDefaultsFieldNumber,
                  [&] { out.Varint(pf::TrackEventDefaults::kTrackUuidFieldNumber, state_uuid_); });
    });
  });
  EncodeTrack(out);
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      out.Varint(pf::TrackDescriptor::kUuidFieldNumber, state_uuid_);
      out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, thread_uuid_);
      out.Bytes(pf::TrackDescriptor::kNameFieldNumber, "state");
    });
  });
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kThreadDescriptorFieldNumber, [&] {
      EncodeThreadDescriptor(info_, out);
      out.SignedVarint(pf::ThreadDescriptor::kReferenceTimestampUsFieldNumber, sample_us_);
    });
  });
}

void ThreadSequence::EncodeTrack(WireEncoder& out) {
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      out.Varint(pf::TrackDescriptor::kUuidFieldNumber, thread_uuid_);
      out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, process_uuid_);
      out.Message(pf::TrackDescriptor::kThreadFieldNumber, [&] { EncodeThreadDescriptor(info_, out); });
    });
    out.Message(trace::kPtraceProfFieldNumber,
                [&] { out.Message(trace::Extension::kThreadFieldNumber, [&] { EncodeThread(info_, out); }); });
  });
}

void ThreadSequence::EncodeStates(const std::vector<StateInfo>& state_infos, WireEncoder& out) {
  for (const StateChange& change : states_) {
    if (change.state == open_state_) {
      continue;
    }
    if (open_state_ != 0) {
      EncodeSlice(change.when_us, 0, out);
    }
    open_state_ = change.state;
    if (change.state != 0) {
      EncodeSlice(change.when_us, interner_.StateName(change.state, state_infos[change.state - 1]), out);
    }
  }
  states_.clear();
}

// name_iid 0 ends the open slice. These packets are many, so they omit the flag of needing incremental state: a reader
// that missed the state must skip track events anyway.
void ThreadSequence::EncodeSlice(int64_t when_us, uint32_t name_iid, WireEncoder& out) {
  const int64_t delta = std::max<int64_t>(0, when_us - clock_us_);
  clock_us_ += delta;
  Packet(out, pf::TracePacket::SEQ_UNSPECIFIED, [&] {
    EncodeDefinitions(out);
    out.SignedVarint(pf::TracePacket::kTimestampFieldNumber, delta);
    out.Message(pf::TracePacket::kTrackEventFieldNumber, [&] {
      out.Varint(pf::TrackEvent::kTypeFieldNumber,
                 name_iid == 0 ? pf::TrackEvent::TYPE_SLICE_END : pf::TrackEvent::TYPE_SLICE_BEGIN);
      out.VarintIfSet(pf::TrackEvent::kNameIidFieldNumber, name_iid);
    });
  });
}

void ThreadSequence::EncodeSamples(WireEncoder& out) {
  iids_.clear();
  size_t begin = 0;
  for (size_t i = 0; i < samples_.size(); ++i) {
    iids_.push_back(interner_.Callstack(samples_[i].stack));
    if (interner_.interned().buffer().size() > kMaxDefinitionBytes) {
      EncodeSampleRange(begin, i + 1, i + 1 == samples_.size(), out);
      begin = i + 1;
    }
  }
  if (begin < samples_.size() || has_locals()) {
    EncodeSampleRange(begin, samples_.size(), true, out);
  }
  samples_.clear();
}

void ThreadSequence::EncodeSampleRange(size_t begin, size_t end, bool with_locals, WireEncoder& out) {
  WireEncoder& extras = interner_.extras();
  uint64_t unmarked = 0;
  for (size_t i = begin; i < end; ++i) {
    if (samples_[i].quality == SampleQuality::kSeen) {
      ++unmarked;
      continue;
    }
    // A message may be written in pieces: protobuf concatenates its repeated fields.
    extras.Message(trace::Extension::kMarksFieldNumber, [&] {
      extras.Varint(trace::SampleMarks::kMarkFieldNumber, unmarked * 8 + static_cast<uint64_t>(samples_[i].quality));
    });
    unmarked = 0;
  }
  if (with_locals) {
    extras.buffer().append(locals_.buffer());
    locals_.Clear();
  }
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    EncodeDefinitions(out);
    out.Message(pf::TracePacket::kStreamingProfilePacketFieldNumber, [&] {
      for (size_t i = begin; i < end; ++i) {
        out.Varint(pf::StreamingProfilePacket::kCallstackIidFieldNumber, iids_[i]);
      }
      for (size_t i = begin; i < end; ++i) {
        const int64_t delta = std::max<int64_t>(0, samples_[i].when_us - sample_us_);
        sample_us_ += delta;
        out.SignedVarint(pf::StreamingProfilePacket::kTimestampDeltaUsFieldNumber, delta);
      }
    });
  });
}

void ThreadSequence::EncodeDefinitions(WireEncoder& out) {
  WireEncoder& interned = interner_.interned();
  WireEncoder& extras = interner_.extras();
  if (!interned.empty()) {
    out.Bytes(pf::TracePacket::kInternedDataFieldNumber, interned.buffer());
    interned.Clear();
  }
  if (!extras.empty()) {
    out.Bytes(trace::kPtraceProfFieldNumber, extras.buffer());
    extras.Clear();
  }
}

void ThreadSequence::EncodeEnd(Nanos when, WireEncoder& out) {
  if (open_state_ != 0) {
    EncodeSlice(when.value / 1000, 0, out);
    open_state_ = 0;
  }
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(trace::kPtraceProfFieldNumber, [&] {
      out.Message(trace::Extension::kThreadEndFieldNumber,
                  [&] { out.SignedVarint(trace::ThreadEnd::kWhenNsFieldNumber, when.value); });
    });
  });
}

void ThreadSequence::Reset() {
  interner_.Clear();
  described_ = Described::kNot;
}

}  // namespace ptrace_prof
