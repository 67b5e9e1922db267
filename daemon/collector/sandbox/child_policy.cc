#include "daemon/collector/sandbox/child_policy.h"

#include <fmt/format.h>

#include "daemon/launcher/target_look.h"

namespace ptrace_prof {

std::optional<std::string> WhyNotFollow(const Policy& rules, Pid pid) {
  const TargetLook look = LookAtTarget(pid);
  if (look.refused != 0) {
    return std::nullopt;  // there is nothing left to read
  }
  const PolicyVerdict verdict = rules.Judge({}, {look.owner, look.command, look.program, look.cgroup});
  if (verdict.allowed) {
    return std::nullopt;
  }
  return fmt::format("the policy of this machine forbids you to profile it: {}",
                     verdict.rule.empty() ? "no rule allows that" : fmt::format("rule '{}'", verdict.rule));
}

}  // namespace ptrace_prof
