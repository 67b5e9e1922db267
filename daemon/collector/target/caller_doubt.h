// Decides whether a stack lacks callers: its outermost frame is a generator's, or has no base below it.
//
// A generator that yields or resumes has no caller while it is the youngest frame, for some nanoseconds. From CPython
// 3.12 on the same holds for a frame that begins, if the compiler links it to its caller later (as in a call of
// 3.12.1). A thread may be preempted just then, and then the same moment is met again and again.
//
// If the thread's stacks began elsewhere before, callers are missing, until the thread has moved a few times and its
// stacks still begin there: then C code calls the generator. One per thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/collector/target/stack_builder.h"

namespace ptrace_prof {

class CallerDoubt {
 public:
  // `last`: the thread's stack before; `frames`: its stack now, leaf first; `is_open`: the outermost frame may lack its
  // caller.
  bool LacksCaller(const BuiltChain& last, const std::vector<RawFrame>& frames, bool is_open) {
    const bool begins_elsewhere =
        !last.frames.empty() && !frames.empty() && last.frames.front().address != frames.back().address;
    lacked_ = is_open && !frames.empty() && (begins_elsewhere || lacked_);
    moves_ = !lacked_                                                                             ? 0
             : begins_elsewhere || last.frames.empty() || !(last.frames.back() == frames.front()) ? moves_ + 1
                                                                                                  : moves_;
    lacked_ = lacked_ && moves_ < kMoves;
    return lacked_;
  }

 private:
  static constexpr uint8_t kMoves = 5;

  bool lacked_ = false;
  uint8_t moves_ = 0;
};

}  // namespace ptrace_prof
