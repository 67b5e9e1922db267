// Where ranges go that are told of one by one, so that on each lane any two lie apart or one within the other: what
// slices of one track of Perfetto must.
//
// Ranges come as they end, or nearly so: a lane remembers the outermost of what it has, and takes a range that holds
// some of them whole and touches no other. What fits nowhere goes on the last lane. Pure data; a bounded one: the
// oldest are remembered as one.
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
  using Lane = std::vector<Outermost>;  // in order, apart from each other
  static constexpr size_t kMostRemembered = 1024;

  static bool Take(Lane& lane, Outermost range, bool must);

  std::vector<Lane> lanes_;
};

}  // namespace ptrace_prof
