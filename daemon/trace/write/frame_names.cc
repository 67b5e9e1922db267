#include "daemon/trace/write/frame_names.h"

#include <functional>

namespace ptrace_prof {

FrameNames::Ids FrameNames::Of(FrameId frame) {
  if (frame.value >= of_frame_.size()) {
    of_frame_.resize(stacks_.frame_count());
  }
  Ids& ids = of_frame_[frame.value];
  if (ids.function == 0) {
    ids = {Intern(stacks_.frame(frame).function), Intern(stacks_.frame(frame).file)};
  }
  return ids;
}

uint32_t FrameNames::Intern(std::string_view text) {
  const auto fresh = static_cast<uint32_t>(texts_.size());
  const uint64_t hash = MixBits(std::hash<std::string_view>{}(text));
  const uint32_t id = index_.FindOrInsert(hash, fresh, [&](uint32_t other) { return texts_[other] == text; });
  if (id == fresh) {
    texts_.push_back(text);
  }
  return id + 1;
}

void FrameNames::Clear() {
  of_frame_ = {};
  texts_ = {};
  index_.Clear();
}

}  // namespace ptrace_prof
