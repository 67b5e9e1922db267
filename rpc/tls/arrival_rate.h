// Limits how many connections per second each host may begin, with some more at once after a pause. Pure; the caller
// passes the time.
//
// The memory is bounded: a host that has been quiet is forgotten, and hosts beyond the limit share one entry. Not
// thread-safe.
// host together. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

class ArrivalRate {
 public:
  // Each host may begin `at_once` connections after a pause, and then one per `interval`.
  ArrivalRate(Nanos interval, size_t at_once, size_t most_hosts)
      : interval_(interval), at_once_(at_once), most_hosts_(most_hosts) {}

  // Whether the connection is admitted. A refused one does not count.
  bool Admit(const std::string& host, Nanos now);
  size_t CountKnown() const { return used_up_until_.size(); }

 private:
  const Nanos interval_;
  const size_t at_once_;
  const size_t most_hosts_;
  // When the host's allowance will be full again. It may begin another connection unless that is too far away.
  std::map<std::string, Nanos> used_up_until_;
};

}  // namespace ptrace_prof
