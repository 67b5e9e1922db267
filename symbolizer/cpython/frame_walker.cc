#include "symbolizer/cpython/frame_walker.h"

#include <cstring>

namespace ptrace_prof {
namespace {

constexpr uint32_t kMaxShims = 4096;

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint64_t LoadInstruction(const Layout& layout, const std::byte* frame) {
  const std::byte* field = frame + layout.frame_instruction;
  const bool is_index =
      layout.instruction == InstructionKind::kLastiBytes || layout.instruction == InstructionKind::kLastiUnits;
  return is_index ? static_cast<uint64_t>(static_cast<int64_t>(Load<int32_t>(field))) : Load<uint64_t>(field);
}

// Brent's algorithm: a stack never contains a frame twice, but a torn chain of reused frames may.
class CycleDetector {
 public:
  bool IsBack(uint64_t at) {
    if (at == landmark_) {
      return true;
    }
    if (++steps_ == next_landmark_) {
      landmark_ = at;
      next_landmark_ *= 2;
    }
    return false;
  }

 private:
  uint64_t landmark_ = 0;
  uint32_t steps_ = 0;
  uint32_t next_landmark_ = 1;
};

}  // namespace

WalkResult WalkFrames(const Layout& layout, const FrameBytes& bytes, uint64_t first, uint32_t max_depth,
                      FrameChain* chain) {
  const bool has_owner = layout.Has(&Layout::frame_owner);
  uint64_t at = first;
  CycleDetector cycle;
  while (at != 0) {
    if (!IsPlausibleAddress(at) || cycle.IsBack(at)) {
      return {WalkEnd::kBad, 0};
    }
    const std::byte* frame = bytes.Find(at, layout.frame_size);
    if (frame == nullptr) {
      return {WalkEnd::kMissing, at};
    }
    chain->ends_in_shim = has_owner && Load<uint8_t>(frame + layout.frame_owner) >= layout.owner_no_python;
    if (chain->ends_in_shim) {
      if (chain->shims.size() >= kMaxShims) {
        return {WalkEnd::kBad, 0};
      }
      chain->shims.push_back(at);
    } else {
      if (chain->frames.size() >= max_depth) {
        return {WalkEnd::kTooDeep, 0};
      }
      const uint64_t code = Load<uint64_t>(frame + layout.frame_code) & ~layout.frame_tag_mask;
      if (code != 0 || !chain->frames.empty()) {  // 0: the leaf has returned meanwhile, and its caller is the leaf now
        chain->frames.push_back({at, code, LoadInstruction(layout, frame)});
      }
    }
    at = Load<uint64_t>(frame + layout.frame_previous);
  }
  return {WalkEnd::kRoot, 0};
}

}  // namespace ptrace_prof
