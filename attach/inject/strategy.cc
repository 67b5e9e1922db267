#include "attach/inject/strategy.h"

#include <optional>

namespace ptrace_prof {
namespace {

constexpr const InjectionStrategy* kStrategies[] = {&kQueueStrategy, &kFrameStrategy};

}  // namespace

std::span<const InjectionStrategy* const> InjectionStrategies() { return kStrategies; }

Result<std::vector<const InjectionStrategy*>> ChooseStrategies(const InjectionTarget& target) {
  std::vector<const InjectionStrategy*> chosen;
  std::optional<Error> refusal;
  for (const InjectionStrategy* strategy : InjectionStrategies()) {
    Result<void> applies = strategy->applies(target);
    if (applies.has_value()) {
      chosen.push_back(strategy);
    } else if (!refusal) {
      refusal = std::move(applies).error();
    }
  }
  if (chosen.empty()) {
    return std::move(*refusal);
  }
  return chosen;
}

}  // namespace ptrace_prof
