// Walks the frame chain of one thread inside bytes that were read before: no system call, bounded, iterative.
//
// Works on PyFrameObject chains (<= 3.10) and _PyInterpreterFrame chains: the Layout has the offsets. Shim frames
// (owner >= layout.owner_no_python) have no code; they are skipped and listed, because the next read must cover them
// too. The bytes are untrusted: lengths are bounded, and StackBuilder, which names the frames, checks that they are
// frames of code.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/read_plan.h"

namespace ptrace_prof {

struct RawFrame {
  uint64_t address = 0;      // of the frame in the target
  uint64_t code = 0;         // of its code object, tag bits removed
  uint64_t instruction = 0;  // by Layout::instruction: a pointer, or f_lasti (sign-extended)

  bool operator==(const RawFrame&) const = default;
};

struct FrameChain {
  std::vector<RawFrame> frames;  // leaf first
  std::vector<uint64_t> shims;
  bool ends_in_shim = false;  // the outermost frame was a shim

  void Clear() {
    frames.clear();
    shims.clear();
    ends_in_shim = false;
  }
};

enum class WalkEnd : uint8_t {
  kRoot,     // reached the end of the chain
  kMissing,  // the next frame is not among the bytes read: `missing` is its address
  kTooDeep,  // `max_depth` frames were found and there are more
  kBad,      // an invalid pointer
};

struct WalkResult {
  WalkEnd end = WalkEnd::kBad;
  uint64_t missing = 0;
};

// Whether `address` can be that of an object in user space (aligned, not null, canonical).
constexpr bool IsPlausibleAddress(uint64_t address) {
  return (address & 7) == 0 && address >= 4096 && address < (uint64_t{1} << 56);
}

// The bytes in which frames are looked up: those of the prediction, then those fetched since.
struct FrameBytes {
  const ReadPlan& planned;
  const ReadPlan& fetched;

  const std::byte* Find(uint64_t address, uint32_t size) const {
    const std::byte* found = planned.Find(address, size);
    return found != nullptr ? found : fetched.Find(address, size);
  }
};

// Appends to `chain` the frames from `first` to null. A leaf with null code has returned (3.14 clears it) and is left
// out. To continue after kMissing: make the bytes available and call again with first = missing.
WalkResult WalkFrames(const Layout& layout, const FrameBytes& bytes, uint64_t first, uint32_t max_depth,
                      FrameChain* chain);

}  // namespace ptrace_prof
