// Chains of samples that were cut at a link which was not known, kept until the next flush: by then it may be.
//
// A link that a stop finds a few milliseconds later makes the samples before it as good as those after it: what is
// believed is the same first read, by the same rule. Bounded: what does not fit stays cut. One per process.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collect/stack_linker.h"
#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {

using DoubtfulId = StrongId<struct DoubtfulIdTag, uint32_t>;
inline constexpr DoubtfulId kNotDoubtful{0};

class DoubtfulChains {
 public:
  // `frames` is leaf first. kNotDoubtful: no room.
  DoubtfulId Keep(const std::vector<RawFrame>& frames) {
    if (frames_.size() + frames.size() > kMostFrames) {
      return kNotDoubtful;
    }
    const size_t begin = frames_.size();
    frames_.insert(frames_.end(), frames.begin(), frames.end());
    ranges_.emplace_back(begin, frames_.size());
    return DoubtfulId(static_cast<uint32_t>(ranges_.size()));
  }

  // Its leaf, if all its links are known by now.
  std::optional<NodeId> Resolve(DoubtfulId id, StackLinker& linker) {
    const auto [begin, end] = ranges_[id.value - 1];
    chain_.assign(frames_.begin() + static_cast<ptrdiff_t>(begin), frames_.begin() + static_cast<ptrdiff_t>(end));
    linked_.Clear();
    const bool whole = linker.Follow(chain_, false, &linked_).end == LinkEnd::kLinked;
    return whole ? std::optional(linked_.leaf()) : std::nullopt;
  }

  void Clear() {
    frames_.clear();
    ranges_.clear();
  }

 private:
  static constexpr size_t kMostFrames = 1 << 15;
  std::vector<RawFrame> frames_;
  std::vector<std::pair<size_t, size_t>> ranges_;
  std::vector<RawFrame> chain_;
  LinkedChain linked_;
};

}  // namespace ptrace_prof
