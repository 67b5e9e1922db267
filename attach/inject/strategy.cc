#include "attach/inject/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ptrace_prof {
namespace {

constexpr const InjectionStrategy* kStrategies[] = {&kQueueStrategy, &kFrameStrategy, &kScriptStrategy};

}  // namespace

std::span<const InjectionStrategy* const> InjectionStrategies() { return kStrategies; }

Result<std::vector<const InjectionStrategy*>> ChooseStrategies(const InjectionTarget& target) {
  std::vector<const InjectionStrategy*> chosen;
  std::optional<Error> refusal;
  for (const InjectionStrategy* strategy : InjectionStrategies()) {
    if (!target.only.empty() && strategy->name != target.only) {
      continue;
    }
    Result<void> applies = strategy->applies(target);
    if (applies.has_value()) {
      chosen.push_back(strategy);
    } else if (!refusal) {
      refusal = std::move(applies).error();
    }
  }
  if (chosen.empty()) {
    return refusal
               ? std::move(*refusal)
               : Error{Code::kInvalidArgument, fmt::format("there is no injection strategy \"{}\"", target.only), ""};
  }
  return chosen;
}

bool CanCall(const InjectionTarget& target) {
  const auto chosen = ChooseStrategies(target);
  return chosen.has_value() &&
         std::ranges::any_of(chosen.value(), [](const auto* row) { return row->turn == InjectionTurn::kUsual; });
}

Result<void> CheckWelcome(const InjectionTarget& target) {
  if (target.debugging_disabled && !target.force) {
    return Because(Reason::kRemoteDebugDisabled,
                   fmt::format("process {} was started with remote debugging disabled", target.pid.value),
                   "Sample it instead, or insist with --force.", ThingOf(target.pid));
  }
  return {};
}

}  // namespace ptrace_prof
