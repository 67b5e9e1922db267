// The settings of `top`. Pure data.
#pragma once

#include "client/cli/top/top_rows.h"

namespace ptrace_prof {

struct TopSettings {
  Pid pid;
  Nanos interval;  // between two blocks of text, or two pictures
  TopQuery query;
  bool is_of_this_machine = true;  // else its source files are not available
  size_t limit = 20;               // rows of a block of text
  uint64_t count = 0;              // blocks of text; 0: no limit
};

}  // namespace ptrace_prof
