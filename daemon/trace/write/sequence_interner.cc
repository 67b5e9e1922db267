#include "daemon/trace/write/sequence_interner.h"

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/frame_kind.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/state_label.h"
#include "daemon/trace/write/cut_name.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr std::string_view kNoStackName = "[no Python frame]";

void DefineString(WireEncoder& out, int field, uint32_t iid, std::string_view text) {
  out.Message(field, [&] {
    out.Varint(pf::InternedString::kIidFieldNumber, iid);
    out.Bytes(pf::InternedString::kStrFieldNumber, text);
  });
}

// Absent values (-1) become 0, which is not written.
uint64_t PlusOne(int32_t column) { return column < 0 ? 0 : uint64_t{static_cast<uint32_t>(column)} + 1; }

uint64_t NonNegative(int32_t line) { return line < 0 ? 0 : static_cast<uint64_t>(line); }

}  // namespace

uint32_t SequenceInterner::AddCallstack(StackId stack) {
  if (stack == kEmptyStack) {
    return AddNoStack();
  }
  chain_.clear();
  for (StackId at = stack; at != kEmptyStack; at = stacks_.parent(at)) {
    chain_.push_back(stacks_.leaf(at));
  }
  for (const FrameId frame : chain_) {
    FrameIid(frame);  // defines it before the message that refers to it
  }
  const auto iid = static_cast<uint32_t>(callstacks_.size()) + 1;
  interned_.Message(pf::InternedData::kCallstacksFieldNumber, [&] {
    interned_.Varint(pf::Callstack::kIidFieldNumber, iid);
    for (auto frame = chain_.rbegin(); frame != chain_.rend(); ++frame) {
      interned_.Varint(pf::Callstack::kFrameIdsFieldNumber, frames_.Find(frame->value + 1));
    }
  });
  callstacks_.Insert(stack.value + 1, iid);
  return iid;
}

// Perfetto has no empty callstack: a marker frame stands for it.
uint32_t SequenceInterner::AddNoStack() {
  const uint32_t function = next_function_++;
  DefineString(interned_, pf::InternedData::kFunctionNamesFieldNumber, function, kNoStackName);
  const uint32_t file = FileIid(names_.NoName());
  const uint32_t frame = next_frame_++;
  interned_.Message(pf::InternedData::kFramesFieldNumber, [&] {
    interned_.Varint(pf::Frame::kIidFieldNumber, frame);
    interned_.Varint(pf::Frame::kFunctionNameIdFieldNumber, function);
    interned_.Varint(pf::Frame::kMappingIdFieldNumber, file);
  });
  extras_.Message(trace::Extension::kFramesFieldNumber, [&] {
    extras_.Varint(trace::FrameExtra::kIidFieldNumber, frame);
    extras_.Varint(trace::FrameExtra::kKindFieldNumber, trace::FrameExtra::KIND_NO_STACK);
  });
  const auto iid = static_cast<uint32_t>(callstacks_.size()) + 1;
  interned_.Message(pf::InternedData::kCallstacksFieldNumber, [&] {
    interned_.Varint(pf::Callstack::kIidFieldNumber, iid);
    interned_.Varint(pf::Callstack::kFrameIdsFieldNumber, frame);
  });
  callstacks_.Insert(kEmptyStack.value + 1, iid);
  return iid;
}

uint32_t SequenceInterner::FrameIid(FrameId frame) {
  if (const uint32_t known = frames_.Find(frame.value + 1); known != 0) {
    return known;
  }
  const FrameNames::Ids names = names_.Of(frame);
  const FrameNames::Ids iids{FunctionIid(names.function), FileIid(names.file)};
  const uint32_t iid = next_frame_++;
  DefineFrame(iid, stacks_.frame(frame), iids);
  frames_.Insert(frame.value + 1, iid);
  return iid;
}

void SequenceInterner::DefineFrame(uint32_t iid, const Frame& frame, FrameNames::Ids names) {
  interned_.Message(pf::InternedData::kFramesFieldNumber, [&] {
    interned_.Varint(pf::Frame::kIidFieldNumber, iid);
    interned_.Varint(pf::Frame::kFunctionNameIdFieldNumber, names.function);
    interned_.Varint(pf::Frame::kMappingIdFieldNumber, names.file);
    interned_.Varint(pf::Frame::kRelPcFieldNumber, NonNegative(frame.line));
    interned_.Varint(pf::Frame::kSourcePathIidFieldNumber, names.file);
    interned_.VarintIfSet(pf::Frame::kLineNumberFieldNumber, NonNegative(frame.line));
  });
  if (frame.kind == FrameKind::kPython && frame.end_line <= 0 && frame.column < 0 && frame.end_column < 0 &&
      frame.first_line <= 0) {
    return;
  }
  extras_.Message(trace::Extension::kFramesFieldNumber, [&] {
    extras_.Varint(trace::FrameExtra::kIidFieldNumber, iid);
    extras_.VarintIfSet(trace::FrameExtra::kEndLineFieldNumber, NonNegative(frame.end_line));
    extras_.VarintIfSet(trace::FrameExtra::kColumnPlusOneFieldNumber, PlusOne(frame.column));
    extras_.VarintIfSet(trace::FrameExtra::kEndColumnPlusOneFieldNumber, PlusOne(frame.end_column));
    extras_.VarintIfSet(trace::FrameExtra::kFirstLineFieldNumber, NonNegative(frame.first_line));
    extras_.VarintIfSet(trace::FrameExtra::kKindFieldNumber, WireKindOf(frame.kind));
  });
}

uint32_t SequenceInterner::FunctionIid(uint32_t name) {
  if (const uint32_t known = functions_.Find(name); known != 0) {
    return known;
  }
  const uint32_t iid = next_function_++;
  DefineString(interned_, pf::InternedData::kFunctionNamesFieldNumber, iid, CutName(names_.Text(name)));
  functions_.Insert(name, iid);
  return iid;
}

// A file is a source path and, because Perfetto up to v52 shows nothing else, also a mapping of the same iid.
uint32_t SequenceInterner::FileIid(uint32_t name) {
  if (const uint32_t known = files_.Find(name); known != 0) {
    return known;
  }
  const auto iid = static_cast<uint32_t>(files_.size()) + 1;
  const std::string_view path = CutName(names_.Text(name));
  DefineString(interned_, pf::InternedData::kSourcePathsFieldNumber, iid, path);
  // Perfetto puts a slash before every component of a mapping's path.
  DefineString(interned_, pf::InternedData::kMappingPathsFieldNumber, iid, path.substr(path.starts_with('/') ? 1 : 0));
  interned_.Message(pf::InternedData::kMappingsFieldNumber, [&] {
    interned_.Varint(pf::Mapping::kIidFieldNumber, iid);
    interned_.Varint(pf::Mapping::kPathStringIdsFieldNumber, iid);
  });
  files_.Insert(name, iid);
  return iid;
}

uint32_t SequenceInterner::StateName(uint32_t state, const StateInfo& info) {
  if (const uint32_t known = states_.Find(state); known != 0) {
    return known;
  }
  const auto iid = static_cast<uint32_t>(states_.size()) + 1;
  interned_.Message(pf::InternedData::kEventNamesFieldNumber, [&] {
    interned_.Varint(pf::EventName::kIidFieldNumber, iid);
    interned_.Bytes(pf::EventName::kNameFieldNumber, CutName(StateLabel(info)));
  });
  extras_.Message(trace::Extension::kStatesFieldNumber, [&] {
    extras_.Varint(trace::StateName::kIidFieldNumber, iid);
    extras_.VarintIfSet(trace::StateName::kStateFieldNumber, static_cast<uint64_t>(info.state));
    extras_.VarintIfSet(trace::StateName::kHoldsGilFieldNumber, info.holds_gil ? 1 : 0);
    extras_.StringIfSet(trace::StateName::kDetailFieldNumber, CutName(info.detail));
  });
  states_.Insert(state, iid);
  return iid;
}

void SequenceInterner::Clear() {
  for (IidMap* map : {&callstacks_, &frames_, &functions_, &files_, &states_}) {
    map->Clear();
  }
  next_frame_ = 1;
  next_function_ = 1;
  interned_.Clear();
  extras_.Clear();
}

}  // namespace ptrace_prof
