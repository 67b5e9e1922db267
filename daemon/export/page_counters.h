// Writes the counters of a recording to the page's JSON: the description and the values over time.
//
// Part of the html format, which owns the surrounding JSON.
#pragma once

#include "daemon/export/json_output.h"
#include "daemon/export/recording.h"

namespace ptrace_prof {

// Writes a member "counters", or nothing if there are none. `end`: the end of the page's time.
void WriteCounters(const Recording& recording, Nanos end, JsonOutput& json);

}  // namespace ptrace_prof
