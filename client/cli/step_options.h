// The options that choose by steps of a training job what a trace of calls holds: --steps, and torch.profiler.schedule
// as --skip-first, --wait, --warmup, --active, --repeat or in one word as --schedule.
//
// --wait is also an option of --name: it is the schedule's where a part of one is given and no name. Stateless.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "client/cli/record_plan.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

void DeclareStepOptions(CLI::App& app, RecordOptions& options);

// Is --wait, where it is given, a number of steps?
bool WaitsForSteps(const RecordOptions& options);
// kInvalidArgument names the option and what may stand there.
Result<void> ReadStepOptions(const RecordOptions& options, CallTraceOptions& trace);

// "3 whole steps, " for a headline; empty where it goes by time.
std::string StepsText(const CallTraceOptions& trace);

}  // namespace ptrace_prof
