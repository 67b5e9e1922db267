#include "daemon/trace/read/call_track.h"

#include <algorithm>
#include <charconv>

#include "daemon/trace/call_vocabulary.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

}  // namespace

struct CallTrack::Event {
  uint64_t type = 0;
  uint64_t name_iid = 0;
  uint64_t category = 0;
  uint64_t flow = 0;
  uint64_t note = 0;
  uint64_t note_value = 0;
  uint64_t elsewhere = 0;  // a track other than the thread's own
  std::string_view name;

  explicit Event(std::string_view message) {
    WireDecoder decoder(message);
    for (WireField field; decoder.Next(field);) {
      switch (field.number) {
        case pf::TrackEvent::kTypeFieldNumber: type = field.value; break;
        case pf::TrackEvent::kNameIidFieldNumber: name_iid = field.value; break;
        case pf::TrackEvent::kCategoryIidsFieldNumber: category = field.value; break;
        case pf::TrackEvent::kFlowIdsFieldNumber: flow = field.value; break;
        case pf::TrackEvent::kTrackUuidFieldNumber: elsewhere = field.value; break;
        case pf::TrackEvent::kNameFieldNumber: name = field.bytes; break;
        case pf::TrackEvent::kDebugAnnotationsFieldNumber: ReadNote(field.bytes); break;
        default: break;
      }
    }
  }

  void ReadNote(std::string_view message) {
    WireDecoder decoder(message);
    for (WireField field; decoder.Next(field);) {
      switch (field.number) {
        case pf::DebugAnnotation::kNameIidFieldNumber: note = field.value; break;
        case pf::DebugAnnotation::kBoolValueFieldNumber:
        case pf::DebugAnnotation::kUintValueFieldNumber: note_value = field.value; break;
        default: break;
      }
    }
  }

  CallEntry entry() const { return category < kCallEntryCount ? static_cast<CallEntry>(category) : CallEntry::kCall; }
  CallExit exit() const {
    const bool known = note < kCallExitCount && (note_value != 0) == kExitNotes[note].value;
    return known ? static_cast<CallExit>(note) : CallExit::kReturn;
  }
};

void CallTrack::Assign(TrackId track) {
  if (is_assigned_ && track == track_) {
    return;  // repeated after the sequence's state was cleared
  }
  *this = CallTrack();
  is_assigned_ = true;
  track_ = track;
}

void CallTrack::OnTrackEvent(std::string_view message, Nanos when, const SequenceTables& tables,
                             ReaderVocabulary& vocabulary, TraceVisitor& visitor) {
  const Event event(message);
  last_ = when = std::max(when, last_);
  if (event.elsewhere != 0 && (event.elsewhere == step_uuid_ || event.name.starts_with(kStepPrefix))) {
    step_uuid_ = event.elsewhere;
    OnStep(event, when, visitor);
  } else if (event.type == pf::TrackEvent::TYPE_SLICE_BEGIN) {
    Begin(event, when, tables, vocabulary, visitor);
  } else if (event.type == pf::TrackEvent::TYPE_SLICE_END) {
    End(event, when, vocabulary, visitor);
  } else {
    vocabulary.Skip();
  }
}

void CallTrack::Begin(const Event& event, Nanos when, const SequenceTables& tables, ReaderVocabulary& vocabulary,
                      TraceVisitor& visitor) {
  const std::optional<FrameId> function = tables.Function(event.name_iid);
  const std::optional<StackId> stack =
      refused_ == 0 && function ? vocabulary.InternStack(open_, *function) : std::nullopt;
  if (!stack) {
    ++refused_;
    vocabulary.Skip();
    return;
  }
  open_ = *stack;
  if (event.entry() == CallEntry::kGap) {
    visitor.OnLostCalls(track_, when, event.note_value);
  }
  visitor.OnCallBegin(track_, when, open_, event.entry(), GeneratorId(event.flow));
}

void CallTrack::End(const Event& event, Nanos when, ReaderVocabulary& vocabulary, TraceVisitor& visitor) {
  if (refused_ > 0) {
    --refused_;
    return;
  }
  if (open_ == kEmptyStack) {
    vocabulary.Skip();
    return;
  }
  visitor.OnCallEnd(track_, when, open_, event.exit());
  open_ = vocabulary.stacks().parent(open_);
}

void CallTrack::OnStep(const Event& event, Nanos when, TraceVisitor& visitor) {
  if (event.type == pf::TrackEvent::TYPE_SLICE_END && step_open_) {
    step_open_ = false;
    visitor.OnStep(track_, step_begin_, when, step_number_);
  }
  if (event.type == pf::TrackEvent::TYPE_SLICE_BEGIN && event.name.starts_with(kStepPrefix)) {
    const std::string_view digits = event.name.substr(kStepPrefix.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step_number_);
    step_open_ = error == std::errc() && end == digits.data() + digits.size();
    step_begin_ = when;
  }
}

}  // namespace ptrace_prof
