// The part of the arena in which the GPU shim records launches and the Python stacks on which they were made
// (attach/abi/gpu_arena.h): a ring of launches, and stacks, each written once.
//
// A view into a GpuArena, which owns the memory. The memory is hostile: numbers are copied once and bounded before use.
// It does not know Python: frames are words. Belongs to the arena's thread.
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
  uint32_t stack = 0;        // for ReadStack; the same number is the same stack for the lifetime of the arena
  Nanos when;                // start of the call, on the target's CLOCK_MONOTONIC
};

struct GpuLaunchStack {
  std::vector<pp_gpu_frame> frames;  // innermost first
  bool is_deeper = false;            // there are more callers
};

class GpuLaunchArea {
 public:
  GpuLaunchArea() = default;  // without launches
  // `begin`: of the whole arena, which has `stack_bytes` bytes for stacks (0: launches are not recorded).
  GpuLaunchArea(uint8_t* begin, uint32_t slots, uint64_t slot_bytes, uint64_t stack_bytes);

  // Visits the launches since the last call, in order. Returns their number.
  size_t Drain(const std::function<void(const GpuLaunchNote&)>& visit);
  // Returns nullopt if there is no such stack.
  std::optional<GpuLaunchStack> ReadStack(uint32_t stack) const;

 private:
  pp_gpu_arena* head_ = nullptr;  // null: launches are not recorded
  std::span<pp_gpu_launch> ring_;
  std::span<const uint8_t> stacks_;
  uint64_t taken_ = 0;
};

}  // namespace ptrace_prof
