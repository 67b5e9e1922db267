#include "daemon/trace/read/gpu_track.h"

#include <algorithm>
#include <array>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/gpu_codec.h"
#include "daemon/trace/gpu_vocabulary.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr size_t kMaxInputsText = 1 << 15;
constexpr size_t kMaxStorages = 1024;

// Converts an untrusted number; one that is out of range becomes the first value.
template <typename Enum>
Enum OneOf(uint64_t value, Enum last) {
  return value <= static_cast<uint64_t>(last) ? static_cast<Enum>(value) : Enum{};
}

std::unique_ptr<OperatorInputs> DecodeInputs(std::string_view message) {
  auto inputs = std::make_unique<OperatorInputs>();
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    const std::string_view text = field.bytes.substr(0, kMaxInputsText);
    switch (field.number) {
      case trace::OperatorInputs::kSizesFieldNumber: inputs->sizes = text; break;
      case trace::OperatorInputs::kStridesFieldNumber: inputs->strides = text; break;
      case trace::OperatorInputs::kTypesFieldNumber: inputs->types = text; break;
      case trace::OperatorInputs::kValuesFieldNumber: inputs->values = text; break;
      default: break;
    }
  }
  return inputs;
}

int64_t Minus(int64_t a, uint64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - b); }

}  // namespace

struct GpuTrack::Event {
  uint64_t type = 0;
  uint64_t name_iid = 0;
  uint64_t category = 0;
  bool has_flow = false;
  std::array<uint64_t, kGpuNotes> notes{};
  std::vector<uint64_t> storages;
  bool has_delay = false;

  explicit Event(std::string_view message) {
    WireDecoder decoder(message);
    for (WireField field; decoder.Next(field);) {
      switch (field.number) {
        case pf::TrackEvent::kTypeFieldNumber: type = field.value; break;
        case pf::TrackEvent::kNameIidFieldNumber: name_iid = field.value; break;
        case pf::TrackEvent::kCategoryIidsFieldNumber: category = field.value; break;
        case pf::TrackEvent::kFlowIdsFieldNumber: has_flow = true; break;
        case pf::TrackEvent::kDebugAnnotationsFieldNumber: ReadNote(field.bytes); break;
        default: break;
      }
    }
  }

  void ReadNote(std::string_view message) {
    uint64_t note = 0;
    uint64_t value = 0;
    WireDecoder decoder(message);
    for (WireField field; decoder.Next(field);) {
      if (field.number == pf::DebugAnnotation::kNameIidFieldNumber) {
        note = field.value;
      } else {
        value = field.value;
      }
    }
    if (note == static_cast<uint64_t>(GpuNote::kStorage)) {
      if (storages.size() < kMaxStorages) {
        storages.push_back(value);
      }
    } else if (note < kGpuNotes) {
      notes[note] = value;
      has_delay = has_delay || note == static_cast<uint64_t>(GpuNote::kLaunchDelay);
    }
  }

  uint64_t note(GpuNote note) const { return notes[static_cast<size_t>(note)]; }
  uint32_t small(GpuNote which) const { return static_cast<uint32_t>(note(which)); }
};

void GpuTrack::Assign(GpuQueueId queue, Nanos base) {
  kind_ = Kind::kQueue;
  queue_ = queue;
  base_ = base;
}

void GpuTrack::Assign(TrackId thread, Nanos base) {
  kind_ = Kind::kThread;
  thread_ = thread;
  base_ = base;
}

void GpuTrack::Define(std::string_view interned, std::string_view extension, const SequenceTables& tables) {
  WireField field;
  for (WireDecoder decoder(interned); decoder.Next(field);) {
    if (field.number == pf::InternedData::kEventNamesFieldNumber) {
      DefineName(field.bytes);
    }
  }
  for (WireDecoder decoder(extension); decoder.Next(field);) {
    if (field.number == trace::Extension::kGpuTextsFieldNumber) {
      DefineText(field.bytes, tables);
    }
  }
}

void GpuTrack::DefineName(std::string_view message) {
  uint64_t iid = 0;
  std::string_view name;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::EventName::kIidFieldNumber: iid = field.value; break;
      case pf::EventName::kNameFieldNumber: name = field.bytes; break;
      default: break;
    }
  }
  if (vocabulary_.Admit(iid, names_.size() + 1, 0, charged_)) {
    names_.push_back(vocabulary_.GpuName(name));
  }
}

void GpuTrack::DefineText(std::string_view message, const SequenceTables& tables) {
  uint64_t iid = 0;
  Text text;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::GpuText::kIidFieldNumber: iid = field.value; break;
      case trace::GpuText::kShapeFieldNumber: text = DecodeGpuShape(field.bytes); break;
      case trace::GpuText::kCallstackIidFieldNumber:
        if (const std::optional<StackId> stack = tables.Callstack(field.value)) {
          text = *stack;
        }
        break;
      case trace::GpuText::kDomainFieldNumber: text = vocabulary_.GpuName(field.bytes); break;
      case trace::GpuText::kInputsFieldNumber: text = DecodeInputs(field.bytes); break;
      default: break;
    }
  }
  const auto* inputs = std::get_if<std::unique_ptr<OperatorInputs>>(&text);
  const size_t bytes = inputs != nullptr ? sizeof(OperatorInputs) + message.size() : 0;
  if (vocabulary_.Admit(iid, kGpuStackSourceTexts.size() + texts_.size(), bytes, charged_)) {
    texts_.push_back(std::move(text));
  }
}

void GpuTrack::OnTrackEvent(std::string_view message, uint64_t timestamp, TraceVisitor& visitor) {
  const Event event(message);
  const Nanos when(static_cast<int64_t>(static_cast<uint64_t>(base_.value) + timestamp));
  switch (event.type) {
    case pf::TrackEvent::TYPE_SLICE_BEGIN: Begin(event, when); break;
    case pf::TrackEvent::TYPE_SLICE_END: End(when, visitor); break;
    case pf::TrackEvent::TYPE_INSTANT: Mark(event, when, visitor); break;
    default: vocabulary_.Skip(); break;
  }
}

// Null: there is no text with this iid.
const GpuTrack::Text* GpuTrack::TextOf(uint64_t iid) const {
  const uint64_t index = iid - kGpuStackSourceTexts.size();  // wraps around to a too large value if there is none
  return index < texts_.size() ? &texts_[index] : nullptr;
}

void GpuTrack::Begin(const Event& event, Nanos when) {
  if (open_.index() != 0) {
    vocabulary_.Skip();  // an event whose end never came
  }
  open_ = {};
  const bool is_queue = kind_ == Kind::kQueue;
  const uint64_t kind = event.category - (is_queue ? 1 : kGpuOperationKinds + 1);
  const bool is_named = event.name_iid != 0 && event.name_iid <= names_.size();
  if (is_named && is_queue && kind < kGpuOperationKinds) {
    open_ = OperationOf(event, when);
  } else if (is_named && !is_queue && kind < kGpuApis) {
    open_ = CallOf(event, when);
  } else if (is_named && !is_queue && event.category == kGpuAnnotationCategory) {
    open_ = AnnotationOf(event, when);
  } else if (is_named && !is_queue && (event.category == kOperatorCategory || event.category == kRangeCategory)) {
    open_ = OperatorOf(event, when);
    storages_ = event.storages;
  } else {
    vocabulary_.Skip();
  }
}

void GpuTrack::Mark(const Event& event, Nanos when, TraceVisitor& visitor) {
  if (kind_ == Kind::kThread && event.category == kAllocationCategory) {
    visitor.OnAllocation(thread_, AllocationOf(event, when));
    return;
  }
  if (kind_ != Kind::kThread || event.category != kGpuAnnotationCategory || event.name_iid == 0 ||
      event.name_iid > names_.size()) {
    vocabulary_.Skip();
    return;
  }
  GpuAnnotation mark = AnnotationOf(event, when);
  mark.kind = GpuAnnotationKind::kMark;
  visitor.OnGpuAnnotation(thread_, mark);
}

GpuAnnotation GpuTrack::AnnotationOf(const Event& event, Nanos when) const {
  const Text* text = TextOf(event.note(GpuNote::kDomain));
  const std::string_view* domain = text != nullptr ? std::get_if<std::string_view>(text) : nullptr;
  const bool is_open = event.note(GpuNote::kStillOpen) != 0;
  return {.kind = is_open ? GpuAnnotationKind::kOpenRange : GpuAnnotationKind::kRange,
          .begin = when,
          .end = when,
          .name = names_[event.name_iid - 1],
          .domain = domain != nullptr ? *domain : std::string_view()};
}

Operator GpuTrack::OperatorOf(const Event& event, Nanos when) const {
  const Text* text = TextOf(event.note(GpuNote::kInputs));
  const auto* inputs = text != nullptr ? std::get_if<std::unique_ptr<OperatorInputs>>(text) : nullptr;
  const Text* other = TextOf(event.note(GpuNote::kOverload));
  const auto* overload = other != nullptr ? std::get_if<std::string_view>(other) : nullptr;
  return {.begin = when,
          .end = when,
          .name = names_[event.name_iid - 1],
          .overload = overload != nullptr ? *overload : std::string_view(),
          .handle = event.note(GpuNote::kHandle),
          .sequence = static_cast<int64_t>(event.note(GpuNote::kSequence) - 1),
          .forward_thread = event.small(GpuNote::kForwardThread),
          .thread = event.small(GpuNote::kTorchThread),
          .scope = OneOf(event.note(GpuNote::kScope), OperatorScope::kStaticRuntimeModel),
          .ending = OneOf(event.note(GpuNote::kEnding), OperatorEnd::kLost),
          .inputs = inputs != nullptr ? inputs->get() : nullptr,
          .is_async = event.note(GpuNote::kAsync) != 0,
          .cpu_memory = static_cast<int64_t>(event.note(GpuNote::kCpuMemory)),
          .device_memory = static_cast<int64_t>(event.note(GpuNote::kDeviceMemory))};
}

Allocation GpuTrack::AllocationOf(const Event& event, Nanos when) const {
  return {.when = when,
          .address = event.note(GpuNote::kAddress),
          .bytes = static_cast<int64_t>(event.note(GpuNote::kChange)),
          .device = {static_cast<uint8_t>(event.note(GpuNote::kDeviceType)),
                     static_cast<int8_t>(event.note(GpuNote::kDeviceIndex) - 1)},
          .allocated = event.note(GpuNote::kAllocated),
          .reserved = event.note(GpuNote::kReserved),
          .operator_handle = event.note(GpuNote::kHandle),
          .was_there = event.note(GpuNote::kWasThere) != 0};
}

GpuApiCall GpuTrack::CallOf(const Event& event, Nanos when) const {
  return {.api = static_cast<GpuApi>(event.category - kGpuOperationKinds - 1),
          .begin = when,
          .end = when,
          .name = names_[event.name_iid - 1],
          .function = event.small(GpuNote::kFunction),
          .correlation = event.note(GpuNote::kCorrelation),
          .result = event.small(GpuNote::kResult),
          .launches = event.has_flow,
          .stack = StackOf(event),
          .stack_source = OneOf(event.note(GpuNote::kStackSource), GpuStackSource::kLaunch)};
}

StackId GpuTrack::StackOf(const Event& event) const {
  const Text* text = TextOf(event.note(GpuNote::kPython));
  const StackId* stack = text != nullptr ? std::get_if<StackId>(text) : nullptr;
  return stack != nullptr ? *stack : kEmptyStack;
}

GpuOperation GpuTrack::OperationOf(const Event& event, Nanos when) const {
  const Text* shape_text = TextOf(event.note(GpuNote::kShape));
  const GpuShape* shape = shape_text != nullptr ? std::get_if<GpuShape>(shape_text) : nullptr;
  const uint64_t delay = event.note(GpuNote::kLaunchDelay);
  return {.kind = static_cast<GpuOperationKind>(event.category - 1),
          .begin = when,
          .end = when,
          .name = names_[event.name_iid - 1],
          .correlation = event.note(GpuNote::kCorrelation),
          .shape = shape != nullptr ? *shape : GpuShape{},
          .bytes = event.note(GpuNote::kBytes),
          .value = event.small(GpuNote::kValue),
          .copy_kind = OneOf(event.note(GpuNote::kCopyKind), GpuCopyKind::kPtoP),
          .source = OneOf(event.note(GpuNote::kSource), GpuMemory::kManagedStatic),
          .target = OneOf(event.note(GpuNote::kTarget), GpuMemory::kManagedStatic),
          .sync = OneOf(event.note(GpuNote::kSync), GpuSync::kContext),
          .event = event.small(GpuNote::kEvent),
          .graph = event.small(GpuNote::kGraph),
          .graph_node = event.note(GpuNote::kGraphNode),
          .channel = event.small(GpuNote::kChannel),
          .launched_by = Tid(static_cast<int32_t>(event.small(GpuNote::kThread))),
          .launched = event.has_delay ? Nanos(Minus(when.value, delay)) : Nanos(),
          .stack = StackOf(event),
          .stack_source = OneOf(event.note(GpuNote::kStackSource), GpuStackSource::kLaunch)};
}

void GpuTrack::End(Nanos when, TraceVisitor& visitor) {
  if (auto* operation = std::get_if<GpuOperation>(&open_)) {
    operation->end = std::max(operation->begin, when);
    visitor.OnGpuOperation(queue_, *operation);
  } else if (auto* call = std::get_if<GpuApiCall>(&open_)) {
    call->end = std::max(call->begin, when);
    visitor.OnGpuApiCall(thread_, *call);
  } else if (auto* annotation = std::get_if<GpuAnnotation>(&open_)) {
    annotation->end = std::max(annotation->begin, when);
    visitor.OnGpuAnnotation(thread_, *annotation);
  } else if (auto* one = std::get_if<Operator>(&open_)) {
    one->end = std::max(one->begin, when);
    one->storages = storages_;
    visitor.OnOperator(thread_, *one);
  } else {
    vocabulary_.Skip();
  }
  open_ = {};
}

void GpuTrack::Clear() {
  names_ = {};
  texts_.clear();
  texts_.shrink_to_fit();
  open_ = {};
  vocabulary_.Refund(charged_);
  charged_ = 0;
}

}  // namespace ptrace_prof
