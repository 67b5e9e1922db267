// The local variables of the frames of the last sample, for dump --locals.
//
// Read after the sample, without a stop: values of a running thread may have moved on. Names come from the code
// object, values as short reprs. Bounded in frames, variables and characters.
#pragma once

#include "daemon/collector/sample/process_sampler.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

void WriteLocals(ProcessSampler& sampler, TraceWriter& writer);

}  // namespace ptrace_prof
