// How many connections a second each host may begin: so many, and some more at once. Pure but for the caller's clock.
//
// What it remembers is bounded: a host that has been quiet is forgotten, and those for whom there is no place are one
// host together. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

class ArrivalRate {
 public:
  // `at_once` of them after a pause, and then one each `interval`.
  ArrivalRate(Nanos interval, size_t at_once, size_t most_hosts)
      : interval_(interval), at_once_(at_once), most_hosts_(most_hosts) {}

  // Whether it may; one that may not counts for nothing.
  bool Admit(const std::string& host, Nanos now);
  size_t CountKnown() const { return used_up_until_.size(); }

 private:
  const Nanos interval_;
  const size_t at_once_;
  const size_t most_hosts_;
  // When a host will be as one that was never seen. It may begin another connection as long as that is not too far
  // away.
  std::map<std::string, Nanos> used_up_until_;
};

}  // namespace ptrace_prof
