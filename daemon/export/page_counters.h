// The counters of a recording as they stand in the page's JSON: what each is, and its values over time.
//
// Part of the html format, which owns the JSON around it.
#pragma once

#include "daemon/export/json_output.h"
#include "daemon/export/recording.h"

namespace ptrace_prof {

// A member "counters"; nothing where there are none. `end`: when the page's time is over.
void WriteCounters(const Recording& recording, Nanos end, JsonOutput& json);

}  // namespace ptrace_prof
