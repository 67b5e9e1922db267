// Distributes ranges to lanes, so that any two ranges on a lane are disjoint or nested, as slices of one Perfetto track
// must be.
//
// Ranges arrive roughly in the order of their ends. A lane remembers its outermost ranges, and accepts a range that
// contains some of them completely and overlaps no other. A range that fits on no lane goes on the last one. Plain
// data, bounded: the oldest ranges are remembered as one.
#pragma once

#include <cstddef>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

class NestingLanes {
 public:
  explicit NestingLanes(size_t lanes) : lanes_(lanes) {}

  // The lane of the next range.
  size_t Add(Nanos begin, Nanos end);

 private:
  struct Outermost {
    Nanos begin;
    Nanos end;
  };
  using Lane = std::vector<Outermost>;  // sorted and disjoint
  static constexpr size_t kMostRemembered = 1024;

  static bool Take(Lane& lane, Outermost range, bool must);

  std::vector<Lane> lanes_;
};

}  // namespace ptrace_prof
