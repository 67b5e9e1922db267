#include "daemon/trace/read/sample_batch.h"

#include <algorithm>

namespace ptrace_prof {

bool SampleBatch::Valid() const {
  for (const Frame& frame : frames) {
    if (frame.function >= strings.size() || frame.file >= strings.size()) {
      return false;
    }
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].frame >= frames.size() || stacks[i].parent > i) {
      return false;
    }
  }
  return std::all_of(threads.begin(), threads.end(), [&](const Thread& thread) {
    return std::all_of(thread.stacks.begin(), thread.stacks.end(),
                       [&](const StackCount& one) { return one.stack <= stacks.size(); });
  });
}

}  // namespace ptrace_prof
