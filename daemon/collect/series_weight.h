// How many samples each moment of a series stands for, so that samples are even in time.
//
// Reading takes longer while the target writes to where we read, and doubts about what was read take longer still:
// series that follow each other as fast as they can would find a thread less often in the functions that make many
// calls. So a series that took a tenth longer than they do on the mean of late counts for a tenth more: some of its
// moments are written twice, as in one that was fast some are left out. On the whole there are as many samples as
// moments. One per process; the thread of the sampler.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class SeriesWeight {
 public:
  // A series was read and judged from `begin` to `end`.
  void Begin(Nanos begin, Nanos end) {
    count_ = std::min(count_ + 1, kRemembered);
    const auto took = static_cast<double>((end - begin).value);
    const double rest = end_ == Nanos() ? 0 : static_cast<double>((begin - end_).value);
    end_ = end;
    const double usual = mean_took_ + mean_rest_;
    const double share = usual > 0 ? std::min((took + mean_rest_) / usual, kMost) : 1;
    // What was put to sleep has nothing to do with the target: it shall not make all others look fast.
    Follow(&mean_took_, usual > 0 ? std::min(took, kMost * usual) : took);
    Follow(&mean_rest_, usual > 0 ? std::min(rest, kMost * usual) : rest);
    weight_ = share;
  }
  // How often its next moment is written: by chance, so that it never keeps step with the target.
  uint32_t Next() {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(weight_ + static_cast<double>(random_ >> 11) * 0x1p-53);
  }

 private:
  static constexpr double kRemembered = 1e5;  // series: a second or so
  static constexpr double kMost = 3;

  void Follow(double* mean, double now) const { *mean += (now - *mean) / count_; }

  Nanos end_;
  double count_ = 0;
  double mean_took_ = 0;  // ns
  double mean_rest_ = 0;
  double weight_ = 1;
  uint64_t random_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace ptrace_prof
