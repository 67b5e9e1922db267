// What a daemon knows about itself, for status requests. Plain data, complete before the first call.
#pragma once

#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct DaemonFacts {
  std::string address;  // as a client writes it: "unix:PATH"
  std::string audit;    // file; empty: none
  std::string metrics;  // address; empty: none
  Uid owner;            // the user who started it
  Nanos started;        // CLOCK_REALTIME
  bool multi_user = false;
};

}  // namespace ptrace_prof
