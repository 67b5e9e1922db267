// When launches without kernels are reported as such.
#include "tests/unit/daemon/collector/gpu/gpu_joined.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kMillis = 1'000'000;

// A job that does something every 100 ms, from `from` to `to`, and the state of the detection meanwhile.
struct Watched : Joined {
  using State = GpuSilence::State;
  void Go(int64_t from, int64_t to, const std::function<Bytes(uint64_t when, uint32_t correlation)>& step) {
    for (int64_t millis = from; millis < to; millis += 100) {
      Take(step(At(millis * kMillis), static_cast<uint32_t>(millis / 100 * 10 + 1)));
      Settle(static_cast<double>(millis + 50) / 1000);
      const State now = StateAt(millis + 60);
      if (now != State::kNone && first_reported == 0) {
        first_reported = millis + 60;
      }
      most = std::max(most, now);
    }
  }
  State StateAt(int64_t millis) const { return joiner.silence().At(base + Nanos(millis * kMillis)); }
  int64_t first_reported = 0;  // ms; 0: nothing was reported
  State most = State::kNone;
};

Bytes Wait(uint64_t start, uint32_t correlation, uint32_t result = 0) {
  return Call(5, 131, start, start + 10, correlation, result);
}
Bytes LaunchAndWait(uint64_t when, uint32_t correlation) {
  return Bytes().Append(Launch(when, correlation), 0).Append(Wait(when + 100, correlation + 1), 0);
}
Bytes ReplayAndWait(uint64_t when, uint32_t correlation) {
  return Bytes().Append(Call(5, 311, when, when + 10, correlation), 0).Append(Wait(when + 100, correlation + 1), 0);
}
Bytes Whole(uint64_t when, uint32_t correlation) {
  return LaunchAndWait(when, correlation).Append(Kernel(when + 20, when + 50, correlation), kKernelSize);
}

TEST(GpuSilence, LaunchesWithoutAnyKernelAreNoticed) {
  Watched watched;
  watched.Go(0, 4000, LaunchAndWait);
  EXPECT_EQ(watched.most, Watched::State::kCertain);
  EXPECT_GT(watched.first_reported, 2000);
  EXPECT_LT(watched.first_reported, 2500);
}

TEST(GpuSilence, SoAreReplaysOfGraphsWithoutNodes) {
  Watched watched;
  watched.Go(0, 4000, ReplayAndWait);
  EXPECT_EQ(watched.most, Watched::State::kCertain);
}

TEST(GpuSilence, ItMayBeginLaterAndEnd) {
  Watched watched;
  watched.Go(0, 1000, Whole);
  EXPECT_EQ(watched.most, Watched::State::kNone);
  watched.Go(1000, 5000, LaunchAndWait);
  EXPECT_EQ(watched.most, Watched::State::kCertain);
  EXPECT_GT(watched.first_reported, 3000);
  watched.Go(5000, 5100, Whole);
  EXPECT_EQ(watched.StateAt(5100), Watched::State::kNone);
}

TEST(GpuSilence, KernelsWithoutTimesAreKernels) {
  Watched watched;
  watched.Go(0, 4000, [](uint64_t when, uint32_t correlation) {
    return LaunchAndWait(when, correlation).Append(Kernel(0, 0, correlation), kKernelSize);
  });
  EXPECT_EQ(watched.most, Watched::State::kNone);
}

TEST(GpuSilence, WhereNothingCameUntilTheEndAGuessTakesLessLong) {
  GpuSilence silence;
  for (int64_t ms = 0; ms <= 1500; ms += 100) {
    silence.Launched(1, Nanos::FromMillis(5000 + ms));
  }
  EXPECT_EQ(silence.AtEndOfNothing(Nanos::FromMillis(6600)), GpuSilence::State::kNone);
  silence.Launched(1, Nanos::FromMillis(7100));
  EXPECT_EQ(silence.At(Nanos::FromMillis(7200)), GpuSilence::State::kNone);
  EXPECT_EQ(silence.AtEndOfNothing(Nanos::FromMillis(7200)), GpuSilence::State::kLikely);
}

TEST(GpuSilence, AKernelMayTakeLong) {
  Watched watched;
  watched.Go(0, 9000, Launch);
  EXPECT_EQ(watched.most, Watched::State::kNone) << "nobody has waited for it";
  watched.Go(9000, 12'000, Launch);
  EXPECT_EQ(watched.most, Watched::State::kLikely);
  // Other calls wait, but not for this kernel.
  Watched other;
  other.Go(0, 5000, [](uint64_t when, uint32_t correlation) {
    Bytes copies = Wait(when + 100, correlation + 1);
    copies.Put(28, uint32_t{12});
    return Launch(when, correlation).Append(copies, 0);
  });
  EXPECT_EQ(other.most, Watched::State::kNone);
}

TEST(GpuSilence, WhatIsCapturedIsNone) {
  Watched watched;
  Bytes begin = Call(5, 315, watched.At(100), watched.At(110), 1);
  watched.Take(begin);
  watched.Go(100, 20'000, LaunchAndWait);
  EXPECT_EQ(watched.most, Watched::State::kNone);
  // A capture that had begun before: the thread cannot wait, and then the capture's end is seen.
  Watched before;
  before.Go(0, 9000, [](uint64_t when, uint32_t correlation) {
    return Launch(when, correlation).Append(Wait(when + 100, correlation + 1, 900), 0);
  });
  Bytes end = Call(5, 319, before.At(9000 * kMillis), before.At(9000 * kMillis + 10), 9001);
  before.Take(end);
  before.Go(9100, 12'000, Whole);
  EXPECT_EQ(before.most, Watched::State::kNone);
}

TEST(GpuSilence, AJobThatRestsIsNotSilent) {
  Watched watched;
  watched.Go(0, 100, LaunchAndWait);  // its kernel was dropped
  EXPECT_EQ(watched.StateAt(60'000), Watched::State::kNone);
}

}  // namespace
}  // namespace ptrace_prof
