// Reads the local variables of the last sample's frames, for dump --locals.
//
// They are read after the sample without a stop, so the values of a running thread may have changed. Names come from
// the code object; values are short reprs. Frames, variables and characters are bounded.
#pragma once

#include "daemon/collector/sample/process_sampler.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

void WriteLocals(ProcessSampler& sampler, TraceWriter& writer);

}  // namespace ptrace_prof
