#include "attach/inject/strategy.h"

namespace ptrace_prof {

std::span<const InjectionStrategy> InjectionStrategies() { return {&kQueueStrategy, 1}; }

Result<const InjectionStrategy*> ChooseStrategy(const InjectionTarget& target) {
  Error refusal{Code::kUnimplemented, "there is no way into this process", ""};
  for (const InjectionStrategy& strategy : InjectionStrategies()) {
    Result<void> applies = strategy.applies(target);
    if (applies.has_value()) {
      return &strategy;
    }
    refusal = std::move(applies).error();
  }
  return refusal;
}

}  // namespace ptrace_prof
