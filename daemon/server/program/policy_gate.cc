#include "daemon/server/program/policy_gate.h"

#include <fmt/format.h>

#include "attach/proc/access_diagnosis.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

PolicyCaller CallerOf(const PeerIdentity& peer) {
  PolicyCaller caller{Uid(peer.uid), Gid(peer.gid), {}};
  for (const uint32_t group : peer.groups) {
    caller.groups.push_back(Gid(group));
  }
  return caller;
}

Error Denied(const PolicyCaller& caller, Pid target, const std::string& rule, const std::string& file) {
  return Because(Reason::kPolicyDenied,
                 fmt::format("the policy of this machine forbids user {} to profile process {}: {}", caller.uid.value,
                             target.value, rule.empty() ? "no rule allows that" : fmt::format("rule '{}'", rule)),
                 fmt::format("ask the administrator of this machine, whose rules are in {}", file), ThingOf(target));
}

}  // namespace

PolicyGate::PolicyGate(const PeerIdentity& caller, const PolicySource& source,
                       std::shared_ptr<LauncherConnection> launcher)
    : caller_(CallerOf(caller)), source_(source), launcher_(std::move(launcher)) {}

PolicyGate::Judgement PolicyGate::Judge(Pid target, bool wants_facts) const {
  const auto policy = source_.current();
  if (target.value == 0 || (!policy->denies_anything() && !wants_facts)) {
    return {};
  }
  auto pinned = OpenPidfd(target);
  auto facts = launcher_->Look(target);
  Judgement judgement{.facts = facts.has_value() ? std::optional(facts.value()) : std::nullopt};
  if (!policy->denies_anything()) {
    return judgement;
  }
  if (pinned.has_error() || HasExited(pinned.value()) || (facts.has_error() && facts.error().code == Code::kGone)) {
    return {.refusal = WhyGone(target)};
  }
  if (facts.has_error()) {
    return {.refusal = std::move(facts).error()};
  }
  PolicyVerdict verdict = policy->Judge(caller_, facts.value());
  judgement.rule = std::move(verdict.rule);
  judgement.target = std::move(pinned).value();
  if (!verdict.allowed) {
    judgement.refusal = Denied(caller_, target, judgement.rule, source_.file());
  }
  return judgement;
}

Result<void> PolicyGate::MayProfile(Pid target) const {
  auto refusal = Judge(target).refusal;
  return refusal.has_value() ? Result<void>(std::move(*refusal)) : Result<void>();
}

Error WhyGone(Pid target) {
  auto checked = CheckTarget(target);
  return checked.has_error()
             ? std::move(checked).error()
             : Because(Reason::kProcessNotFound, fmt::format("process {} ended while it was examined", target.value),
                       "try again: its pid now belongs to another process", ThingOf(target));
}

}  // namespace ptrace_prof
