// Walks the frame chain of one thread inside bytes that were read before: no system call, bounded, iterative.
//
// Works on PyFrameObject chains (<= 3.10) and _PyInterpreterFrame chains alike: the Layout says where the fields are.
// Shim frames (owner >= layout.owner_no_python) have no code; they are passed over and listed, because the next
// read must cover them too. Nothing that is read is believed: lengths are bounded, and who names the
// frames (StackBuilder) checks that they are of code.
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
  uint64_t instruction = 0;  // as Layout::instruction says: pointer, or f_lasti (sign-extended)

  bool operator==(const RawFrame&) const = default;
};

struct FrameChain {
  std::vector<RawFrame> frames;  // leaf first
  std::vector<uint64_t> shims;
  bool ends_in_shim = false;  // the outermost of all was one

  void Clear() {
    frames.clear();
    shims.clear();
    ends_in_shim = false;
  }
};

enum class WalkEnd : uint8_t {
  kRoot,     // reached the end of the chain
  kMissing,  // the next frame is not among the bytes read: `missing` says which
  kTooDeep,  // `max_depth` frames were found and there are more
  kBad,      // a pointer that cannot be one
};

struct WalkResult {
  WalkEnd end = WalkEnd::kBad;
  uint64_t missing = 0;
};

// Could `address` be that of an object in user space? (aligned, not null, canonical)
constexpr bool IsPlausibleAddress(uint64_t address) {
  return (address & 7) == 0 && address >= 4096 && address < (uint64_t{1} << 56);
}

// Where frames may be found: what the prediction covered, then what was fetched since.
struct FrameBytes {
  const ReadPlan& planned;
  const ReadPlan& fetched;

  const std::byte* Find(uint64_t address, uint32_t size) const {
    const std::byte* found = planned.Find(address, size);
    return found != nullptr ? found : fetched.Find(address, size);
  }
};

// Appends to `chain` the frames from `first` on, until null. A leaf whose code is null has returned (3.14 clears
// it) and is left out. To continue after kMissing: make the bytes available and call again with
// first = missing.
WalkResult WalkFrames(const Layout& layout, const FrameBytes& bytes, uint64_t first, uint32_t max_depth,
                      FrameChain* chain);

}  // namespace ptrace_prof
