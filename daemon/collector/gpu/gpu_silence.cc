#include "daemon/collector/gpu/gpu_silence.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLong = Nanos::FromSeconds(2);
constexpr Nanos kGoesOnFor = Nanos::FromSeconds(1);  // launches continue for that long
constexpr Nanos kComesIn = Nanos::FromMillis(500);   // a record may take that long
constexpr Nanos kUnproven = Nanos::FromSeconds(10);  // if no thread waits
constexpr size_t kMaxGpuThreads = 8192;

}  // namespace

void GpuSilence::Launched(uint32_t thread, Nanos begin) {
  if (!IsOpen(begin)) {
    return;
  }
  if (first_.size() >= kMaxGpuThreads && !first_.contains(thread)) {
    first_.clear();
  }
  Nanos& first = first_[thread];
  first = IsOpen(first) ? first : begin;
  run_ = IsOpen(run_) ? run_ : begin;
  last_ = std::max(last_, begin);
  if (IsOpen(proven_) && !IsOpen(after_) && begin - proven_ > kGoesOnFor) {
    after_ = begin;
  }
}

void GpuSilence::Waited(uint32_t thread, Nanos begin, Nanos end) {
  const auto first = first_.find(thread);
  if (first != first_.end() && IsOpen(first->second) && begin >= first->second && !IsOpen(proven_)) {
    proven_ = end;
  }
}

GpuSilence::State GpuSilence::At(Nanos now) const {
  if (IsOpen(proven_) && IsOpen(after_) && now - proven_ > kLong && now - after_ > kComesIn) {
    return State::kCertain;
  }
  return IsOpen(run_) && last_ - run_ > kUnproven ? State::kLikely : State::kNone;
}

GpuSilence::State GpuSilence::AtEndOfNothing(Nanos now) const {
  const State state = At(now);
  return state == State::kNone && IsOpen(run_) && last_ - run_ > kLong ? State::kLikely : state;
}

}  // namespace ptrace_prof
