#include "daemon/trace/write/gpu_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "attach/base/base_name.h"
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/gpu_codec.h"
#include "daemon/trace/gpu_vocabulary.h"
#include "daemon/trace/id_index.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/sequence_clock.h"
#include "daemon/trace/write/cut_name.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr int64_t kBeforeOrigin = 60'000'000'000;  // times may be that much before the trace's begin
constexpr size_t kMaxStackText = 512;

}  // namespace

// A packet with one TrackEvent, built from front to back. Its lengths are always two bytes.
struct GpuSequence::Event {
  Event(const GpuSequence& sequence, Nanos when, pf::TrackEvent::Type type) {
    Byte(LengthTag(pf::Trace::kPacketFieldNumber));
    size += 2;
    Byte(VarintTag(pf::TracePacket::kTimestampFieldNumber));
    Varint(sequence.Time(when));
    Byte(LengthTag(pf::TracePacket::kTrackEventFieldNumber));
    size += 2;
    event_at = size;
    Byte(VarintTag(pf::TrackEvent::kTypeFieldNumber));
    Byte(static_cast<uint8_t>(type));
  }
  void Byte(uint8_t byte) { bytes[size++] = byte; }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      Byte(static_cast<uint8_t>(value | 0x80));
    }
    Byte(static_cast<uint8_t>(value));
  }
  void Field(int field, uint64_t value) {
    Byte(VarintTag(field));
    Varint(value);
  }
  void Note(GpuNote note, int field, uint64_t value) {
    Byte(LengthTag(pf::TrackEvent::kDebugAnnotationsFieldNumber));
    const size_t length_at = size++;
    Field(pf::DebugAnnotation::kNameIidFieldNumber, static_cast<uint64_t>(note));
    Varint(static_cast<uint32_t>(field) << 3);
    Varint(value);
    bytes[length_at] = static_cast<uint8_t>(size - length_at - 1);
  }
  void NoteIfSet(GpuNote note, uint64_t value) {
    if (value != 0) {
      Note(note, pf::DebugAnnotation::kUintValueFieldNumber, value);
    }
  }
  void Text(GpuNote note, uint32_t iid) { Note(note, pf::DebugAnnotation::kStringValueIidFieldNumber, iid); }
  void Flow(uint64_t id) {
    constexpr uint32_t kFixed64 = 1;
    Varint(static_cast<uint32_t>(pf::TrackEvent::kFlowIdsFieldNumber) << 3 | kFixed64);
    for (int shift = 0; shift < 64; shift += 8) {
      Byte(static_cast<uint8_t>(id >> shift));
    }
  }
  void PutLength(size_t before, size_t length) {
    bytes[before - 2] = static_cast<uint8_t>(length | 0x80);
    bytes[before - 1] = static_cast<uint8_t>(length >> 7);
  }
  void Append(const std::string& tail, WireEncoder& out) {
    PutLength(event_at, size - event_at);
    std::memcpy(bytes.data() + size, tail.data(), tail.size());
    size += tail.size();
    PutLength(kPacketAt, size - kPacketAt);
    out.buffer().append(reinterpret_cast<const char*>(bytes.data()), size);
  }

  static constexpr size_t kPacketAt = 3;
  // Room for all notes at their longest, and the surrounding fields.
  std::array<uint8_t, kGpuNotes * 16 + 96> bytes;
  size_t size = 0;
  size_t event_at;
};

GpuSequence::GpuSequence(GpuSequencePlace place, const TraceOrigin& origin, const StackTable& stacks, FrameNames& names)
    : place_(std::move(place)),
      origin_(origin),
      stacks_(stacks),
      interner_(stacks, names),
      base_(std::max<int64_t>(0, origin.monotonic.value - kBeforeOrigin)) {
  WireEncoder tail;
  tail.Varint(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, place_.sequence_id);
  tail_ = tail.buffer();
}

size_t GpuSequence::ShapeHash::operator()(const GpuShape& shape) const {
  uint64_t hash = 0;
  for (const uint32_t number :
       {shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
        shape.registers_per_thread, shape.static_shared_memory, shape.dynamic_shared_memory}) {
    hash = hash * 0x9e3779b97f4a7c15 + number;
  }
  return MixBits(hash);
}

// A target's times are not trusted.
uint64_t GpuSequence::Time(Nanos when) const {
  return when.value <= base_ ? 0 : static_cast<uint64_t>(when.value - base_);
}

template <typename Fill>
void GpuSequence::Packet(WireEncoder& out, uint32_t flags, Fill fill) const {
  out.Message(pf::Trace::kPacketFieldNumber, [&] {
    fill();
    out.buffer().append(tail_);
    out.VarintIfSet(pf::TracePacket::kSequenceFlagsFieldNumber, flags);
  });
}

void GpuSequence::EncodePreamble(WireEncoder& out) {
  described_ = true;
  using Clock = pf::ClockSnapshot::Clock;
  Packet(out, pf::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED, [&] {
    out.Message(pf::TracePacket::kClockSnapshotFieldNumber, [&] {
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, pf::BUILTIN_CLOCK_MONOTONIC);
        out.SignedVarint(Clock::kTimestampFieldNumber, base_);
      });
      out.Message(pf::ClockSnapshot::kClocksFieldNumber, [&] {
        out.Varint(Clock::kClockIdFieldNumber, kSequenceClock);
        out.Varint(Clock::kTimestampFieldNumber, 0);
      });
    });
    out.Message(pf::TracePacket::kTracePacketDefaultsFieldNumber, [&] {
      out.Varint(pf::TracePacketDefaults::kTimestampClockIdFieldNumber, kSequenceClock);
      out.Message(pf::TracePacketDefaults::kTrackEventDefaultsFieldNumber,
                  [&] { out.Varint(pf::TrackEventDefaults::kTrackUuidFieldNumber, place_.uuid); });
    });
    out.Message(pf::TracePacket::kInternedDataFieldNumber, [&] { DefineFixedTexts(out); });
    out.Message(trace::kPtraceProfFieldNumber, [&] {
      out.Message(trace::Extension::kGpuTrackFieldNumber, [&] {
        out.SignedVarint(trace::GpuTrack::kBaseNsFieldNumber, base_);
        out.buffer().append(place_.about);
      });
    });
  });
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      out.Varint(pf::TrackDescriptor::kUuidFieldNumber, place_.uuid);
      out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, place_.parent_uuid);
      out.Bytes(pf::TrackDescriptor::kNameFieldNumber, place_.name);
    });
  });
}

void GpuSequence::DefineFixedTexts(WireEncoder& out) const {
  for (uint32_t i = 0; i < kGpuCategories.size(); ++i) {
    out.Message(pf::InternedData::kEventCategoriesFieldNumber, [&] {
      out.Varint(pf::EventCategory::kIidFieldNumber, i + 1);
      out.Bytes(pf::EventCategory::kNameFieldNumber, kGpuCategories[i]);
    });
  }
  for (uint32_t iid = 1; iid < kGpuNoteNames.size(); ++iid) {
    out.Message(pf::InternedData::kDebugAnnotationNamesFieldNumber, [&] {
      out.Varint(pf::DebugAnnotationName::kIidFieldNumber, iid);
      out.Bytes(pf::DebugAnnotationName::kNameFieldNumber, kGpuNoteNames[iid]);
    });
  }
  for (uint32_t iid = 1; iid < kGpuStackSourceTexts.size(); ++iid) {
    out.Message(pf::InternedData::kDebugAnnotationStringValuesFieldNumber, [&] {
      out.Varint(pf::InternedString::kIidFieldNumber, iid);
      out.Bytes(pf::InternedString::kStrFieldNumber, kGpuStackSourceTexts[iid]);
    });
  }
}

uint32_t GpuSequence::NameIid(std::string_view name, WireEncoder& out) {
  name = CutName(name);
  if (const auto known = names_.find(name); known != names_.end()) {
    return known->second;
  }
  const auto iid = static_cast<uint32_t>(names_.size()) + 1;
  names_.emplace(name, iid);
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    out.Message(pf::TracePacket::kInternedDataFieldNumber, [&] {
      out.Message(pf::InternedData::kEventNamesFieldNumber, [&] {
        out.Varint(pf::EventName::kIidFieldNumber, iid);
        out.Bytes(pf::EventName::kNameFieldNumber, name);
      });
    });
  });
  return iid;
}

// Defines `text` with the next iid; `fill` adds its meaning.
template <typename Fill>
void GpuSequence::DefineText(std::string_view text, Fill fill, WireEncoder& out) {
  const auto iid = static_cast<uint32_t>(kGpuStackSourceTexts.size()) + texts_++;
  Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
    WireEncoder& interned = interner_.interned();
    interned.Message(pf::InternedData::kDebugAnnotationStringValuesFieldNumber, [&] {
      interned.Varint(pf::InternedString::kIidFieldNumber, iid);
      interned.Bytes(pf::InternedString::kStrFieldNumber, text);
    });
    WireEncoder& extras = interner_.extras();
    extras.Message(trace::Extension::kGpuTextsFieldNumber, [&] {
      extras.Varint(trace::GpuText::kIidFieldNumber, iid);
      fill(extras);
    });
    out.Bytes(pf::TracePacket::kInternedDataFieldNumber, interned.buffer());
    out.Bytes(trace::kPtraceProfFieldNumber, extras.buffer());
    interned.Clear();
    extras.Clear();
  });
}

uint32_t GpuSequence::ShapeIid(const GpuShape& shape, WireEncoder& out) {
  if (const auto known = shapes_.find(shape); known != shapes_.end()) {
    return known->second;
  }
  const std::string text =
      fmt::format("grid {}x{}x{}, block {}x{}x{}, {} registers, {} + {} B shared", shape.grid[0], shape.grid[1],
                  shape.grid[2], shape.block[0], shape.block[1], shape.block[2], shape.registers_per_thread,
                  shape.static_shared_memory, shape.dynamic_shared_memory);
  const auto iid = static_cast<uint32_t>(kGpuStackSourceTexts.size()) + texts_;
  DefineText(
      text,
      [&](WireEncoder& extra) {
        extra.Message(trace::GpuText::kShapeFieldNumber, [&] { EncodeGpuShape(shape, extra); });
      },
      out);
  shapes_.emplace(shape, iid);
  return iid;
}

// Leaf first, as much as there is room for.
std::string GpuSequence::StackText(StackId stack) const {
  std::string text;
  for (; stack != kEmptyStack; stack = stacks_.parent(stack)) {
    const Frame& frame = stacks_.frame(stacks_.leaf(stack));
    const std::string_view file = BaseName(frame.file);
    text += text.empty() ? "" : " < ";
    text += std::string_view(frame.function).substr(0, kMaxStackText);
    if (!file.empty()) {
      text += fmt::format(" ({}:{})", file.substr(0, kMaxStackText), frame.line);
    }
    if (text.size() > kMaxStackText) {
      return text.substr(0, kMaxStackText);
    }
  }
  return text;
}

uint32_t GpuSequence::StackIid(StackId stack, WireEncoder& out) {
  if (stack == kEmptyStack) {
    return 0;
  }
  if (const uint32_t known = stack_texts_.Find(stack.value); known != 0) {
    return known;
  }
  const uint32_t callstack = interner_.Callstack(stack);  // its definitions are written with the text's
  const auto iid = static_cast<uint32_t>(kGpuStackSourceTexts.size()) + texts_;
  DefineText(
      StackText(stack), [&](WireEncoder& extra) { extra.Varint(trace::GpuText::kCallstackIidFieldNumber, callstack); },
      out);
  stack_texts_.Insert(stack.value, iid);
  return iid;
}

uint32_t GpuSequence::DomainIid(std::string_view domain, WireEncoder& out) {
  domain = domain.substr(0, kMaxStackText);
  if (const auto known = domains_.find(domain); known != domains_.end()) {
    return known->second;
  }
  const auto iid = static_cast<uint32_t>(kGpuStackSourceTexts.size()) + texts_;
  DefineText(
      domain, [&](WireEncoder& extra) { extra.Bytes(trace::GpuText::kDomainFieldNumber, domain); }, out);
  domains_.emplace(domain, iid);
  return iid;
}

// 0: none.
uint32_t GpuSequence::InputsIid(const OperatorInputs* inputs, WireEncoder& out) {
  if (inputs == nullptr) {
    return 0;
  }
  if (const uint32_t known = inputs_.Find(inputs->number); inputs->number != 0 && known != 0) {
    return known;
  }
  const auto iid = static_cast<uint32_t>(kGpuStackSourceTexts.size()) + texts_;
  DefineText(
      fmt::format("{} {}", inputs->sizes, inputs->types),
      [&](WireEncoder& extra) {
        extra.Message(trace::GpuText::kInputsFieldNumber, [&] {
          extra.Bytes(trace::OperatorInputs::kSizesFieldNumber, inputs->sizes);
          extra.Bytes(trace::OperatorInputs::kStridesFieldNumber, inputs->strides);
          extra.Bytes(trace::OperatorInputs::kTypesFieldNumber, inputs->types);
          extra.Bytes(trace::OperatorInputs::kValuesFieldNumber, inputs->values);
        });
      },
      out);
  if (inputs->number != 0) {
    inputs_.Insert(inputs->number, iid);
  }
  return iid;
}

uint64_t GpuSequence::LaneUuid(size_t lane) const { return StateTrackUuid(origin_, place_.uuid ^ lane); }

// Chooses the first track with room for the slice, given the slices so far, and describes it at its first use.
size_t GpuSequence::Lane(Nanos begin, Nanos end, WireEncoder& out) {
  size_t lane = 0;
  while (lane + 1 < kLanes && lane_ends_[lane] > begin.value) {
    ++lane;
  }
  lane_ends_[lane] = std::max(lane_ends_[lane], end.value);
  DescribeLanes(lane, out);
  return lane;
}

void GpuSequence::DescribeLanes(size_t last, WireEncoder& out) {
  for (; lanes_described_ <= last; ++lanes_described_) {
    Packet(out, pf::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE, [&] {
      out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
        out.Varint(pf::TrackDescriptor::kUuidFieldNumber, LaneUuid(lanes_described_));
        out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, place_.uuid);
        out.Bytes(pf::TrackDescriptor::kNameFieldNumber, "at the same time");
      });
    });
  }
}

void GpuSequence::AddStack(StackId stack, GpuStackSource source, uint32_t iid, Event& event) const {
  if (stack != kEmptyStack) {
    event.Text(GpuNote::kPython, iid);
  }
  if (source != GpuStackSource::kNone) {
    event.Text(GpuNote::kStackSource, static_cast<uint32_t>(source));
  }
}

void GpuSequence::AddFlow(uint64_t correlation, Event& event) const {
  if (correlation != 0) {
    event.Flow(MixBits(place_.process_uuid ^ MixBits(correlation + 0x67707500)) | 1);  // 0 would mean no flow
  }
}

void GpuSequence::EncodeEnd(Nanos when, size_t lane, WireEncoder& out) const {
  Event event(*this, when, pf::TrackEvent::TYPE_SLICE_END);
  if (lane > 0) {
    event.Field(pf::TrackEvent::kTrackUuidFieldNumber, LaneUuid(lane));
  }
  event.Append(tail_, out);
}

void GpuSequence::AddOperation(const GpuOperation& operation, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(out);
  }
  const Nanos end = std::max(operation.begin, operation.end);
  const bool is_kernel = operation.kind == GpuOperationKind::kKernel;
  const uint32_t name = NameIid(operation.name, out);
  const uint32_t shape = is_kernel ? ShapeIid(operation.shape, out) : 0;
  const uint32_t stack = StackIid(operation.stack, out);
  const size_t lane = Lane(operation.begin, end, out);
  Event event(*this, operation.begin, pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Field(pf::TrackEvent::kNameIidFieldNumber, name);
  event.Field(pf::TrackEvent::kCategoryIidsFieldNumber, static_cast<uint64_t>(operation.kind) + 1);
  if (lane > 0) {
    event.Field(pf::TrackEvent::kTrackUuidFieldNumber, LaneUuid(lane));
  }
  if (is_kernel) {
    event.Text(GpuNote::kShape, shape);
  }
  const std::pair<GpuNote, uint64_t> notes[] = {
      {GpuNote::kCorrelation, operation.correlation},
      {GpuNote::kThread, static_cast<uint64_t>(std::max(operation.launched_by.value, 0))},
      {GpuNote::kBytes, operation.bytes},
      {GpuNote::kGraph, operation.graph},
      {GpuNote::kGraphNode, operation.graph_node},
      {GpuNote::kCopyKind, static_cast<uint64_t>(operation.copy_kind)},
      {GpuNote::kSource, static_cast<uint64_t>(operation.source)},
      {GpuNote::kTarget, static_cast<uint64_t>(operation.target)},
      {GpuNote::kValue, operation.value},
      {GpuNote::kSync, static_cast<uint64_t>(operation.sync)},
      {GpuNote::kEvent, operation.event},
      {GpuNote::kChannel, operation.channel},
  };
  for (const auto& [note, value] : notes) {
    event.NoteIfSet(note, value);
  }
  if (operation.launched.value != 0) {
    event.Note(GpuNote::kLaunchDelay, pf::DebugAnnotation::kIntValueFieldNumber,
               static_cast<uint64_t>(operation.begin.value) - static_cast<uint64_t>(operation.launched.value));
  }
  AddStack(operation.stack, operation.stack_source, stack, event);
  AddFlow(operation.correlation, event);
  event.Append(tail_, out);
  EncodeEnd(end, lane, out);
}

void GpuSequence::AddCall(const GpuApiCall& call, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(out);
  }
  const uint32_t name = NameIid(call.name, out);
  const uint32_t stack = StackIid(call.stack, out);
  Event event(*this, call.begin, pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Field(pf::TrackEvent::kNameIidFieldNumber, name);
  event.Field(pf::TrackEvent::kCategoryIidsFieldNumber, kGpuOperationKinds + static_cast<uint64_t>(call.api) + 1);
  event.NoteIfSet(GpuNote::kCorrelation, call.correlation);
  event.NoteIfSet(GpuNote::kFunction, call.function);
  event.NoteIfSet(GpuNote::kResult, call.result);
  AddStack(call.stack, call.stack_source, stack, event);
  AddFlow(call.launches ? call.correlation : 0, event);
  event.Append(tail_, out);
  EncodeEnd(std::max(call.begin, call.end), 0, out);
}

void GpuSequence::AddAnnotation(const GpuAnnotation& annotation, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(out);
  }
  const bool is_mark = annotation.kind == GpuAnnotationKind::kMark;
  const Nanos end = std::max(annotation.begin, annotation.end);
  const uint32_t name = NameIid(annotation.name, out);
  const uint32_t domain = annotation.domain.empty() ? 0 : DomainIid(annotation.domain, out);
  const size_t lane = is_mark ? 0 : nesting_.Add(annotation.begin, end);
  DescribeLanes(lane, out);
  Event event(*this, annotation.begin, is_mark ? pf::TrackEvent::TYPE_INSTANT : pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Field(pf::TrackEvent::kNameIidFieldNumber, name);
  event.Field(pf::TrackEvent::kCategoryIidsFieldNumber, kGpuAnnotationCategory);
  if (lane > 0) {
    event.Field(pf::TrackEvent::kTrackUuidFieldNumber, LaneUuid(lane));
  }
  if (domain != 0) {
    event.Text(GpuNote::kDomain, domain);
  }
  event.NoteIfSet(GpuNote::kStillOpen, annotation.kind == GpuAnnotationKind::kOpenRange ? 1 : 0);
  event.Append(tail_, out);
  if (!is_mark) {
    EncodeEnd(end, lane, out);
  }
}

void GpuSequence::AddOperator(const Operator& one, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(out);
  }
  const Nanos end = std::max(one.begin, one.end);
  const uint32_t name = NameIid(one.name, out);
  const uint32_t inputs = InputsIid(one.inputs, out);
  const uint32_t overload = one.overload.empty() ? 0 : DomainIid(one.overload, out);
  const size_t lane = nesting_.Add(one.begin, end);
  DescribeLanes(lane, out);
  Event event(*this, one.begin, pf::TrackEvent::TYPE_SLICE_BEGIN);
  event.Field(pf::TrackEvent::kNameIidFieldNumber, name);
  event.Field(pf::TrackEvent::kCategoryIidsFieldNumber, one.is_range() ? kRangeCategory : kOperatorCategory);
  if (lane > 0) {
    event.Field(pf::TrackEvent::kTrackUuidFieldNumber, LaneUuid(lane));
  }
  const std::pair<GpuNote, uint64_t> notes[] = {
      {GpuNote::kHandle, one.handle},
      {GpuNote::kSequence, static_cast<uint64_t>(one.sequence) + 1},
      {GpuNote::kForwardThread, one.forward_thread},
      {GpuNote::kTorchThread, one.thread},
      {GpuNote::kScope, static_cast<uint64_t>(one.scope)},
      {GpuNote::kEnding, static_cast<uint64_t>(one.ending)},
      {GpuNote::kAsync, one.is_async ? 1 : 0},
  };
  for (const auto& [note, value] : notes) {
    event.NoteIfSet(note, value);
  }
  for (const auto& [note, value] :
       {std::pair(GpuNote::kCpuMemory, one.cpu_memory), std::pair(GpuNote::kDeviceMemory, one.device_memory)}) {
    if (value != 0) {
      event.Note(note, pf::DebugAnnotation::kIntValueFieldNumber, static_cast<uint64_t>(value));
    }
  }
  if (inputs != 0) {
    event.Text(GpuNote::kInputs, inputs);
  }
  if (overload != 0) {
    event.Text(GpuNote::kOverload, overload);
  }
  for (const uint64_t storage : one.storages) {
    event.NoteIfSet(GpuNote::kStorage, storage);
  }
  event.Append(tail_, out);
  EncodeEnd(end, lane, out);
}

void GpuSequence::AddAllocation(const Allocation& one, WireEncoder& out) {
  if (!described_) {
    EncodePreamble(out);
  }
  const uint32_t name = NameIid(kAllocationName, out);
  Event event(*this, one.when, pf::TrackEvent::TYPE_INSTANT);
  event.Field(pf::TrackEvent::kNameIidFieldNumber, name);
  event.Field(pf::TrackEvent::kCategoryIidsFieldNumber, kAllocationCategory);
  event.Note(GpuNote::kChange, pf::DebugAnnotation::kIntValueFieldNumber, static_cast<uint64_t>(one.bytes));
  const std::pair<GpuNote, uint64_t> notes[] = {
      {GpuNote::kAddress, one.address},
      {GpuNote::kDeviceType, one.device.type},
      {GpuNote::kDeviceIndex, static_cast<uint64_t>(one.device.index + 1)},
      {GpuNote::kAllocated, one.allocated},
      {GpuNote::kReserved, one.reserved},
      {GpuNote::kHandle, one.operator_handle},
      {GpuNote::kWasThere, one.was_there ? 1 : 0},
  };
  for (const auto& [note, value] : notes) {
    event.NoteIfSet(note, value);
  }
  event.Append(tail_, out);
}

void GpuSequence::Reset() {
  interner_.Clear();
  names_.clear();
  shapes_.clear();
  stack_texts_.Clear();
  domains_.clear();
  inputs_.Clear();
  texts_ = 0;
  described_ = false;
  lanes_described_ = 1;
}

}  // namespace ptrace_prof
