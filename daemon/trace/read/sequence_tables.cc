#include "daemon/trace/read/sequence_tables.h"

#include <algorithm>
#include <limits>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/state_label.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

int32_t AsLine(uint64_t value) {
  return static_cast<int32_t>(std::min<uint64_t>(value, std::numeric_limits<int32_t>::max()));
}
int32_t MinusOne(uint64_t column_plus_one) { return column_plus_one == 0 ? -1 : AsLine(column_plus_one - 1); }

FrameKind KindOf(uint64_t kind) {
  switch (kind) {
    case trace::FrameExtra::KIND_PYTHON: return FrameKind::kPython;
    case trace::FrameExtra::KIND_C: return FrameKind::kC;
    case trace::FrameExtra::KIND_MODULE: return FrameKind::kModule;
    default: return FrameKind::kMarker;
  }
}

template <typename Entry>
const Entry* At(const std::vector<Entry>& table, uint64_t iid) {
  return iid == 0 || iid > table.size() ? nullptr : &table[iid - 1];
}

}  // namespace

void SequenceTables::Define(std::string_view interned, std::string_view extension) {
  WireField field;
  for (WireDecoder decoder(interned); decoder.Next(field);) {
    switch (field.number) {
      case pf::InternedData::kFunctionNamesFieldNumber: DefineString(field.bytes, functions_); break;
      case pf::InternedData::kSourcePathsFieldNumber: DefineString(field.bytes, files_); break;
      case pf::InternedData::kFramesFieldNumber: DefineFrame(field.bytes); break;
      case pf::InternedData::kSourceLocationsFieldNumber: DefineCalled(field.bytes); break;
      default: break;
    }
  }
  for (WireDecoder decoder(extension); decoder.Next(field);) {
    switch (field.number) {
      case trace::Extension::kFramesFieldNumber: DefineFrameExtra(field.bytes); break;
      case trace::Extension::kStatesFieldNumber: DefineState(field.bytes); break;
      case trace::Extension::kCalledFieldNumber: DefineCalledExtra(field.bytes); break;
      default: break;
    }
  }
  for (size_t i = 0; i < new_frames_.size(); ++i) {
    frames_.push_back(new_no_stack_[i] ? std::nullopt : std::optional(vocabulary_.InternFrame(new_frames_[i])));
  }
  for (const Frame& function : new_called_) {
    called_.push_back(vocabulary_.InternFrame(function));
  }
  new_frames_.clear();
  new_no_stack_.clear();
  new_called_.clear();
  for (WireDecoder decoder(interned); decoder.Next(field);) {
    if (field.number == pf::InternedData::kCallstacksFieldNumber) {
      DefineCallstack(field.bytes);
    }
  }
}

void SequenceTables::DefineString(std::string_view message, std::vector<std::string>& table) {
  uint64_t iid = 0;
  std::string_view text;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::InternedString::kIidFieldNumber: iid = field.value; break;
      case pf::InternedString::kStrFieldNumber: text = field.bytes; break;
      default: break;
    }
  }
  if (vocabulary_.Admit(iid, table.size() + 1, text.size(), charged_)) {
    table.emplace_back(text);
  }
}

void SequenceTables::DefineFrame(std::string_view message) {
  uint64_t iid = 0;
  Frame frame;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    const std::string* text = nullptr;
    switch (field.number) {
      case pf::Frame::kIidFieldNumber: iid = field.value; break;
      case pf::Frame::kLineNumberFieldNumber: frame.line = AsLine(field.value); break;
      case pf::Frame::kFunctionNameIdFieldNumber:
        text = At(functions_, field.value);
        frame.function = text == nullptr ? "?" : *text;
        break;
      case pf::Frame::kSourcePathIidFieldNumber:
        text = At(files_, field.value);
        frame.file = text == nullptr ? "?" : *text;
        break;
      default: break;
    }
  }
  if (vocabulary_.Admit(iid, frames_.size() + new_frames_.size() + 1, frame.function.size() + frame.file.size(),
                        charged_)) {
    new_frames_.push_back(std::move(frame));
    new_no_stack_.push_back(false);
  }
}

void SequenceTables::DefineFrameExtra(std::string_view message) {
  Frame* frame = nullptr;
  uint64_t index = 0;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (field.number == trace::FrameExtra::kIidFieldNumber) {
      index = field.value - frames_.size() - 1;  // wraps around to a too large value for other packets' frames
      frame = field.value > frames_.size() && index < new_frames_.size() ? &new_frames_[index] : nullptr;
    }
    if (frame == nullptr) {
      continue;
    }
    switch (field.number) {
      case trace::FrameExtra::kEndLineFieldNumber: frame->end_line = AsLine(field.value); break;
      case trace::FrameExtra::kColumnPlusOneFieldNumber: frame->column = MinusOne(field.value); break;
      case trace::FrameExtra::kEndColumnPlusOneFieldNumber: frame->end_column = MinusOne(field.value); break;
      case trace::FrameExtra::kFirstLineFieldNumber: frame->first_line = AsLine(field.value); break;
      case trace::FrameExtra::kKindFieldNumber:
        frame->kind = KindOf(field.value);
        new_no_stack_[index] = field.value == trace::FrameExtra::KIND_NO_STACK;
        break;
      default: break;
    }
  }
}

void SequenceTables::DefineCallstack(std::string_view message) {
  uint64_t iid = 0;
  std::optional<StackId> stack = kEmptyStack;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (field.number == pf::Callstack::kIidFieldNumber) {
      iid = field.value;
    }
    if (field.number == pf::Callstack::kFrameIdsFieldNumber && stack) {
      const std::optional<FrameId>* frame = At(frames_, field.value);
      if (frame == nullptr) {
        stack = std::nullopt;
      } else if (frame->has_value()) {
        stack = vocabulary_.InternStack(*stack, **frame);
      }
    }
  }
  if (vocabulary_.Admit(iid, callstacks_.size() + 1, 0, charged_)) {
    callstacks_.push_back(stack);
  }
}

void SequenceTables::DefineState(std::string_view message) {
  uint64_t iid = 0;
  StateInfo info;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::StateName::kIidFieldNumber: iid = field.value; break;
      case trace::StateName::kHoldsGilFieldNumber: info.holds_gil = field.value != 0; break;
      case trace::StateName::kDetailFieldNumber: info.detail = vocabulary_.Detail(field.bytes); break;
      case trace::StateName::kStateFieldNumber:
        info.state = field.value < kThreadStateCount ? static_cast<ThreadState>(field.value) : ThreadState::kUnknown;
        break;
      default: break;
    }
  }
  if (vocabulary_.Admit(iid, states_.size() + 1, 0, charged_)) {
    states_.push_back(info);
  }
}

void SequenceTables::DefineCalled(std::string_view message) {
  uint64_t iid = 0;
  Frame frame;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case pf::SourceLocation::kIidFieldNumber: iid = field.value; break;
      case pf::SourceLocation::kFileNameFieldNumber: frame.file = field.bytes; break;
      case pf::SourceLocation::kFunctionNameFieldNumber: frame.function = field.bytes; break;
      case pf::SourceLocation::kLineNumberFieldNumber: frame.line = frame.first_line = AsLine(field.value); break;
      default: break;
    }
  }
  if (vocabulary_.Admit(iid, called_.size() + new_called_.size() + 1, frame.function.size() + frame.file.size(),
                        charged_)) {
    new_called_.push_back(std::move(frame));
  }
}

void SequenceTables::DefineCalledExtra(std::string_view message) {
  Frame* frame = nullptr;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (field.number == trace::CalledExtra::kIidFieldNumber) {
      const uint64_t index = field.value - called_.size() - 1;  // wraps around for those of other packets
      frame = field.value > called_.size() && index < new_called_.size() ? &new_called_[index] : nullptr;
    } else if (field.number == trace::CalledExtra::kKindFieldNumber && frame != nullptr) {
      frame->kind = KindOf(field.value);
    }
  }
}

std::optional<FrameId> SequenceTables::Function(uint64_t iid) const {
  const FrameId* function = At(called_, iid);
  return function == nullptr ? std::nullopt : std::optional(*function);
}

std::optional<StackId> SequenceTables::Callstack(uint64_t iid) const {
  const std::optional<StackId>* stack = At(callstacks_, iid);
  return stack == nullptr ? std::nullopt : *stack;
}

std::optional<StateInfo> SequenceTables::State(uint64_t iid) const {
  const StateInfo* info = At(states_, iid);
  return info == nullptr ? std::nullopt : std::optional(*info);
}

void SequenceTables::Clear() {
  functions_ = {};
  files_ = {};
  frames_ = {};
  callstacks_ = {};
  states_ = {};
  called_ = {};
  vocabulary_.Refund(charged_);
  charged_ = 0;
}

}  // namespace ptrace_prof
