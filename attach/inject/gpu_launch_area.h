// The part of the arena in which the GPU shim tells of launches, and of the Python stacks that they were made on
// (attach/abi/gpu_arena.h): a ring of launches, and stacks, each of which was written once.
//
// A view into a GpuArena, which owns the memory, as hostile as all of that: numbers are copied once and bounded before
// they are used. It knows nothing of Python: frames are words. Belongs to the arena's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/abi/gpu_arena.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct GpuLaunchNote {
  uint32_t correlation = 0;  // of the call, as in its record
  uint32_t stack = 0;        // for ReadStack; the same number is the same stack for as long as the arena is there
  Nanos when;                // when the call began, on the target's CLOCK_MONOTONIC
};

struct GpuLaunchStack {
  std::vector<pp_gpu_frame> frames;  // the one that made the call first
  bool is_deeper = false;            // there are more callers
};

class GpuLaunchArea {
 public:
  GpuLaunchArea() = default;  // without launches
  // `begin`: of the whole arena, which has that many bytes for stacks (0: none of this).
  GpuLaunchArea(uint8_t* begin, uint32_t slots, uint64_t slot_bytes, uint64_t stack_bytes);

  // Those that have come since the last time, in that order. How many there were.
  size_t Drain(const std::function<void(const GpuLaunchNote&)>& visit);
  // Nothing: there is no such stack.
  std::optional<GpuLaunchStack> ReadStack(uint32_t stack) const;

 private:
  pp_gpu_arena* head_ = nullptr;  // null: nothing is told
  std::span<pp_gpu_launch> ring_;
  std::span<const uint8_t> stacks_;
  uint64_t taken_ = 0;
};

}  // namespace ptrace_prof
