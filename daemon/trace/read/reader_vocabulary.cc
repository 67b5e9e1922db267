#include "daemon/trace/read/reader_vocabulary.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDetail = 256;
constexpr size_t kDescriptionBytes = 128;  // about what a description costs besides its text

}  // namespace

FrameId ReaderVocabulary::InternFrame(const Frame& frame) {
  if (frame_bytes_ > kMaxFrameBytes) {
    Skip();
    Frame nameless;
    nameless.function = "[too many functions]";
    nameless.kind = FrameKind::kMarker;
    return stacks_.InternFrame(nameless);
  }
  const size_t before = stacks_.frame_count();
  const FrameId id = stacks_.InternFrame(frame);
  if (stacks_.frame_count() != before) {
    frame_bytes_ += sizeof(Frame) + frame.function.size() + frame.file.size();
  }
  return id;
}

std::optional<StackId> ReaderVocabulary::InternStack(StackId parent, FrameId frame) {
  if (stacks_.stack_count() >= kMaxStacks) {
    return std::nullopt;
  }
  return stacks_.InternStack(parent, frame);
}

std::string_view ReaderVocabulary::Detail(std::string_view text) {
  text = text.substr(0, kMaxDetail);
  if (const auto known = details_.find(std::string(text)); known != details_.end()) {
    return *known;
  }
  return details_.size() < kMaxDetails ? std::string_view(*details_.emplace(text).first) : std::string_view();
}

std::string_view ReaderVocabulary::GpuName(std::string_view text) {
  std::string name(text);
  if (const auto known = gpu_names_.find(name); known != gpu_names_.end()) {
    return *known;
  }
  return Describe(name.size()) ? std::string_view(*gpu_names_.insert(std::move(name)).first)
                               : std::string_view("[too many names]");
}

bool ReaderVocabulary::Admit(uint64_t iid, uint64_t expected, size_t bytes, size_t& charged) {
  constexpr size_t kEntryBytes = 64;  // about what an entry costs besides its text
  if (iid != expected) {
    Skip();
    return false;
  }
  if (!Charge(kEntryBytes + bytes)) {
    return false;
  }
  charged += kEntryBytes + bytes;
  return true;
}

bool ReaderVocabulary::Charge(size_t bytes) {
  if (table_bytes_ + bytes > kMaxTableBytes) {
    Skip();
    return false;
  }
  table_bytes_ += bytes;
  return true;
}

bool ReaderVocabulary::Describe(size_t bytes) {
  if (described_ > kMaxDescribed) {
    Skip();
    return false;
  }
  described_ += kDescriptionBytes + bytes;
  return true;
}

}  // namespace ptrace_prof
