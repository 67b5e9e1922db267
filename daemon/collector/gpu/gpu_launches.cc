#include "daemon/collector/gpu/gpu_launches.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kFirstSlots = size_t{1} << 14;
constexpr size_t kMostSlots = size_t{1} << 20;
constexpr Nanos kYoung = Nanos::FromSeconds(30);

}  // namespace

GpuLaunches::GpuLaunches() : slots_(kFirstSlots) {}

// The number nearest to the last one that ends in these bits.
uint64_t GpuLaunches::Widen(uint32_t correlation) {
  if (correlation == 0) {  // no correlation
    return 0;
  }
  if (last_ == 0) {
    last_ = correlation;
    return correlation;
  }
  const auto away = static_cast<int32_t>(correlation - static_cast<uint32_t>(last_));
  if (away < 0 && last_ < static_cast<uint64_t>(-static_cast<int64_t>(away))) {
    return correlation;  // from before the first
  }
  const uint64_t wide = last_ + static_cast<uint64_t>(static_cast<int64_t>(away));
  last_ = wide > last_ ? wide : last_;
  return wide;
}

GpuLaunch* GpuLaunches::Find(uint64_t correlation) {
  GpuLaunch& slot = slots_[SlotOf(correlation)];
  return slot.correlation == correlation && correlation != 0 ? &slot : nullptr;
}

bool GpuLaunches::Grow() {
  if (slots_.size() >= kMostSlots) {
    return false;
  }
  std::vector<GpuLaunch> old(slots_.size() * 2);
  old.swap(slots_);
  for (const GpuLaunch& launch : old) {
    if (launch.correlation != 0) {
      slots_[SlotOf(launch.correlation)] = launch;
    }
  }
  return true;
}

void GpuLaunches::Add(const GpuLaunch& launch) {
  const auto is_needed = [&](const GpuLaunch& old) {
    return old.correlation != 0 && old.correlation != launch.correlation && launch.begin - old.begin < kYoung;
  };
  while (is_needed(slots_[SlotOf(launch.correlation)]) && Grow()) {
  }
  GpuLaunch& slot = slots_[SlotOf(launch.correlation)];
  CountIfUnseen(slot, forgotten_);
  slot = launch;
}

void GpuLaunches::CountIfUnseen(const GpuLaunch& launch, GpuUnseenLaunches& unseen) const {
  if (launch.correlation == 0 || launch.is_seen || !(launch.is_implied || launch.is_replay)) {
    return;
  }
  if (captures_.Covers(launch.begin)) {
    unseen.captured += launch.is_implied ? 1 : 0;
  } else {
    ++(launch.is_replay ? unseen.replays : unseen.kernels);
  }
}

GpuUnseenLaunches GpuLaunches::CountUnseen() const {
  GpuUnseenLaunches unseen = forgotten_;
  for (const GpuLaunch& launch : slots_) {
    CountIfUnseen(launch, unseen);
  }
  return unseen;
}

bool GpuLaunches::LacksOne(Nanos first, Nanos last) const {
  return std::ranges::any_of(slots_, [&](const GpuLaunch& launch) {
    return launch.correlation != 0 && launch.is_implied && !launch.is_seen && first <= launch.begin &&
           launch.begin <= last && !captures_.Covers(launch.begin);
  });
}

Nanos GpuLaunches::LastSeen() const {
  Nanos last;
  for (const GpuLaunch& launch : slots_) {
    if (launch.correlation != 0 && launch.is_implied && launch.is_seen) {
      last = std::max(last, launch.begin);
    }
  }
  return last;
}

}  // namespace ptrace_prof
