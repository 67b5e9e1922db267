#include "rpc/messages/spec_rules.h"

namespace ptrace_prof {

const std::vector<SpecRule>& SpecRules() {
  static const std::vector<SpecRule> rules = {
      {[](const v1::CaptureSpec& spec) {
         return spec.sample().blocking() && (spec.sample().nonblocking() || spec.sample().no_stops());
       },
       {"sample.blocking", "sample.nonblocking"},
       "{0} stops the process for every sample, and {1} forbids it",
       "leave one of them out"},
      {[](const v1::CaptureSpec& spec) { return spec.trace().steps() > 0 && spec.trace().has_schedule(); },
       {"trace.steps", "trace.schedule"},
       "{0} and {1} are both given",
       "leave {0} out: a schedule ends with its repeats"},
      {[](const v1::CaptureSpec& spec) { return spec.trace().has_schedule() && spec.trace().schedule().active() == 0; },
       {"trace.schedule.active"},
       "a schedule must say how many steps are recorded, and {0} is missing",
       "give {0} 1 or more"},
      {[](const v1::CaptureSpec& spec) {
         return spec.force() && !HasGpu(spec) && !GoesWith(v1::Option::CALLS, spec.mode());
       },
       {"force", "gpu"},
       "{0} goes with traced calls or with {1}, and nothing is brought into the process for samples",
       "leave {0} out"},
  };
  return rules;
}

}  // namespace ptrace_prof
