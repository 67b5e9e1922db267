// Does a stack lack its callers whose outermost frame is a generator's, or stands on nothing?
//
// A generator that yields or goes on, and from CPython 3.12 on a frame that begins (where the compiler links it to its
// caller after that, as in a call of 3.12.1), is for some nanoseconds the youngest frame and has no caller. A thread
// may lose its CPU just then, and the same moment is met again and again.
// Where the thread's stacks began elsewhere before, callers are missing, until it has moved a few times and they still
// begin there: then C code calls the generator. One for each thread.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/collector/target/stack_builder.h"

namespace ptrace_prof {

class CallerDoubt {
 public:
  // `last`: what the thread's stack was before; `frames`: what it is, leaf first; `is_open`: its outermost one may lack
  // its caller.
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
