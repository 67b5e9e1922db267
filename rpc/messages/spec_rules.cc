#include "rpc/messages/spec_rules.h"

namespace ptrace_prof {

const std::vector<SpecRule>& SpecRules() {
  static const std::vector<SpecRule> rules = {
      {[](const v1::CaptureSpec& spec) {
         return spec.sample().blocking() && (spec.sample().nonblocking() || spec.sample().no_stops());
       },
       {"sample.blocking", "sample.nonblocking"},
       "{0} stops the process for every sample, but {1} forbids stops",
       "leave one of them out"},
      {[](const v1::CaptureSpec& spec) { return spec.trace().steps() > 0 && spec.trace().has_schedule(); },
       {"trace.steps", "trace.schedule"},
       "{0} and {1} are both given",
       "leave {0} out: a schedule ends with its repeats"},
      {[](const v1::CaptureSpec& spec) { return spec.trace().has_schedule() && spec.trace().schedule().active() == 0; },
       {"trace.schedule.active"},
       "{0} is missing: a schedule needs the number of steps to record",
       "set {0} to 1 or more"},
      {[](const v1::CaptureSpec& spec) { return spec.record_shapes() && spec.torch() == v1::TORCH_OFF; },
       {"record_shapes", "torch"},
       "{0} records the inputs of operators, but {1} off records no operators",
       "leave one of them out"},
      {[](const v1::CaptureSpec& spec) { return spec.profile_memory() && spec.torch() == v1::TORCH_OFF; },
       {"profile_memory", "torch"},
       "{0} records the memory of PyTorch, but {1} off brings no hook in",
       "leave one of them out"},
      {[](const v1::CaptureSpec& spec) { return spec.execution_trace() && spec.torch() == v1::TORCH_OFF; },
       {"execution_trace", "torch"},
       "{0} is made by PyTorch, but {1} off brings no hook in",
       "leave one of them out"},
      {[](const v1::CaptureSpec& spec) { return spec.force() && !EntersTarget(spec); },
       {"force", "gpu", "torch"},
       "{0} needs traced calls, {1} or {2} on: sampling loads nothing into the process",
       "leave {0} out"},
  };
  return rules;
}

}  // namespace ptrace_prof
