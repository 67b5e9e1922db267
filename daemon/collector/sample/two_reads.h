// Compares two reads of one thread's stack, between which it may have moved on: which frames are certain. Pure
// functions.
#pragma once

#include <algorithm>
#include <vector>

#include "symbolizer/cpython/frame_walker.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {

inline bool IsUsable(CollectStatus status) {
  return status == CollectStatus::kWhole || status == CollectStatus::kTooDeep;
}

// Same calls in progress. The youngest frame may be at another instruction.
inline bool AreSameCalls(const std::vector<RawFrame>& a, const std::vector<RawFrame>& b) {
  return a.size() == b.size() && (a.empty() || (a[0].address == b[0].address && a[0].code == b[0].code &&
                                                std::equal(a.begin() + 1, a.end(), b.begin() + 1)));
}

// The number of outermost frames of `a` that are certain: those that are in `b` too, and the frame at which the two
// reads part, if it is the same call at another instruction.
inline size_t CertainFrames(const std::vector<RawFrame>& a, const std::vector<RawFrame>& b) {
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < most && a[a.size() - 1 - same] == b[b.size() - 1 - same]) {
    ++same;
  }
  if (same < most) {
    const RawFrame& one = a[a.size() - 1 - same];
    const RawFrame& other = b[b.size() - 1 - same];
    same += one.address == other.address && one.code == other.code ? 1 : 0;
  }
  return same;
}

}  // namespace ptrace_prof
