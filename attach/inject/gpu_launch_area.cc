#include "attach/inject/gpu_launch_area.h"

#include <atomic>
#include <cstring>

namespace ptrace_prof {

GpuLaunchArea::GpuLaunchArea(uint8_t* begin, uint32_t slots, uint64_t slot_bytes, uint64_t stack_bytes) {
  if (stack_bytes == 0) {
    return;
  }
  head_ = reinterpret_cast<pp_gpu_arena*>(begin);
  ring_ = {reinterpret_cast<pp_gpu_launch*>(begin + PP_GPU_LAUNCHES_OFFSET(slots, slot_bytes)), PP_GPU_LAUNCH_RING};
  stacks_ = {begin + PP_GPU_STACKS_OFFSET(slots, slot_bytes), stack_bytes};
}

// A launch whose thread has not finished writing it delays those behind it until the next call.
size_t GpuLaunchArea::Drain(const std::function<void(const GpuLaunchNote&)>& visit) {
  size_t count = 0;
  for (; head_ != nullptr && count < ring_.size(); ++count) {
    pp_gpu_launch& place = ring_[taken_ % ring_.size()];
    if (std::atomic_ref<uint64_t>(place.sequence).load(std::memory_order_acquire) != taken_ + 1) {
      break;
    }
    pp_gpu_launch said;
    std::memcpy(&said, &place, sizeof said);
    ++taken_;
    std::atomic_ref<uint64_t>(head_->launch_tail).store(taken_, std::memory_order_release);
    visit({said.correlation, said.stack, Nanos(static_cast<int64_t>(said.monotonic))});
  }
  return count;
}

std::optional<GpuLaunchStack> GpuLaunchArea::ReadStack(uint32_t stack) const {
  const uint64_t at = uint64_t{stack} * PP_GPU_STACK_UNIT;
  if (stack == 0 || at >= stacks_.size() || stacks_.size() - at < sizeof(pp_gpu_stack)) {
    return std::nullopt;
  }
  pp_gpu_stack head;
  std::memcpy(&head, stacks_.data() + at, sizeof head);
  const std::span<const uint8_t> rest = stacks_.subspan(at + sizeof head);
  if (head.count == 0 || head.count > PP_GPU_STACK_FRAMES || rest.size() / sizeof(pp_gpu_frame) < head.count) {
    return std::nullopt;
  }
  GpuLaunchStack found;
  found.frames.resize(head.count);
  std::memcpy(found.frames.data(), rest.data(), head.count * sizeof(pp_gpu_frame));
  found.is_deeper = (head.flags & PP_GPU_STACK_DEEPER) != 0;
  return found;
}

}  // namespace ptrace_prof
