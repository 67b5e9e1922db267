// How much speaks for a link that is not known yet: equal reads at several meetings add up.
//
// A torn chain can look the same at every second look, no more: it shows a caller that has gone on, and the loop that
// does that is as long elsewhere as there. A real call of some microseconds looks the same nine times out of ten. Each
// look multiplies the odds by what it is likelier under one than under the other: 0.9 to 0.5 where it is equal, 0.1 to
// 0.5 where the chain has changed. Odds of 2^20 are as good as twenty equal reads in a row, which always suffice: a
// torn chain gets there once in 2^20, however often it is met (under what it does the odds are a martingale). Bounded.
// One per process.
#pragma once

#include <algorithm>
#include <cmath>

#include "attach/base/flat_map.h"
#include "daemon/collect/link_set.h"

namespace ptrace_prof {

class LinkEvidence {
 public:
  // Equal reads in a row that the link needs now; at most `most`.
  int ReadsNeeded(const Link& link, int most) const {
    const double* odds = odds_.Find(link);
    return std::clamp(static_cast<int>(std::ceil((kEnough - (odds == nullptr ? 0 : *odds)) / kEqual)), 1, most);
  }
  // So many reads were equal, then the chain changed.
  void Add(const Link& link, int equal) {
    if (odds_.size() >= kMostLinks) {
      odds_.Clear();
    }
    double* known = odds_.Find(link);
    (known != nullptr ? *known : *odds_.Insert(link, 0)) += equal * kEqual + kChanged;
  }

 private:
  static constexpr size_t kMostLinks = 1 << 14;
  static constexpr double kEnough = 20;      // all in bits
  static constexpr double kEqual = 0.848;    // log2(0.9 / 0.5)
  static constexpr double kChanged = -2.32;  // log2(0.1 / 0.5)

  FlatMap<Link, double, LinkHash> odds_;
};

}  // namespace ptrace_prof
