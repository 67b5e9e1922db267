#include "daemon/collector/target/frame_codes.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr uint8_t kSettledAfter = 8;  // times that a code object was found unchanged

}  // namespace

bool FrameCodes::IsSettled(CodeId id) const {
  const CodeInfo& info = codes_.info(id);
  return info.confirmed >= kSettledAfter || (generation_ != 0 && info.generation == generation_);
}

const FrameCodes::Noted* FrameCodes::FindNoted(uint64_t address) const {
  const auto found = std::ranges::find(noted_, address, &Noted::address);
  return found == noted_.end() ? nullptr : &*found;
}

void FrameCodes::Begin(uint64_t generation) {
  generation_ = generation;
  noted_.clear();
}

void FrameCodes::Note(const std::vector<RawFrame>& frames) {
  const size_t from = noted_.size();
  requests_.clear();
  uint64_t before = 0;
  for (const RawFrame& frame : frames) {
    if (frame.code == before || !IsPlausibleAddress(frame.code)) {
      continue;  // usually a recursion
    }
    before = frame.code;
    const CodeId known = codes_.Find(frame.code);
    if ((known != kNoCode && IsSettled(known)) || FindNoted(frame.code) != nullptr) {
      continue;
    }
    if (noted_.size() == kMostNoted) {
      break;
    }
    requests_.push_back({RemoteAddr(frame.code), headers_.data() + noted_.size() * kHeaderBytes, codes_.header_size()});
    noted_.push_back({.address = frame.code});
  }
  ReadHeaders(from);
}

// Reads the headers that were noted from `from` on.
void FrameCodes::ReadHeaders(size_t from) {
  for (size_t done = 0; done < requests_.size();) {
    size_t filled = 0;
    const ReadStatus status = memory_.ReadBatch(std::span(requests_).subspan(done), &filled);
    for (size_t i = from + done; i < from + done + filled; ++i) {
      noted_[i].is_read = true;
      noted_[i].fingerprint = codes_.FingerprintOf(headers_.data() + i * kHeaderBytes);
    }
    if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
      return;
    }
    done += filled + (status == ReadStatus::kOk ? 0 : 1);  // skips one that is not mapped
  }
}

// Returns the object that is there now, if it is the noted one both before and after its names were read.
CodeId FrameCodes::NameNew(uint64_t address, const Noted* noted) {
  const CodeId id = codes_.Read(address);
  if (id == kNoCode || (noted != nullptr && codes_.info(id).fingerprint != noted->fingerprint) || !codes_.IsSame(id)) {
    codes_.Forget(address);
    return kNoCode;
  }
  codes_.Confirm(id, generation_);
  return id;
}

const std::vector<CodeId>& FrameCodes::Name(const std::vector<RawFrame>& frames) {
  names_.clear();
  gone_ = 0;
  for (const RawFrame& frame : frames) {
    CodeId id = IsPlausibleAddress(frame.code) ? codes_.Find(frame.code) : kNoCode;
    const Noted* noted = id != kNoCode && IsSettled(id) ? nullptr : FindNoted(frame.code);
    if (noted != nullptr && !noted->is_read) {
      id = kNoCode;
    } else if (noted != nullptr && id != kNoCode && codes_.info(id).fingerprint == noted->fingerprint) {
      codes_.Confirm(id, generation_);
    } else if ((noted != nullptr || id == kNoCode) && IsPlausibleAddress(frame.code)) {
      codes_.Forget(frame.code);
      id = NameNew(frame.code, noted);
    }
    gone_ += id == kNoCode ? 1 : 0;
    names_.push_back(id);
  }
  return names_;
}

}  // namespace ptrace_prof
