#include "daemon/collector/calls/step_calls.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

// Bounds: a target may make any number of functions, optimizers and threads.
constexpr size_t kMaxCodes = 65'536;
constexpr size_t kMaxOptimizers = 64;
constexpr size_t kMaxThreads = 256;

}  // namespace

void StepCalls::Know(RemoteAddr code, StepRole role) {
  if (StepRole* known = roles_.Find(code.value)) {
    *known = role;
  } else if (role != StepRole::kNone && roles_.size() < kMaxCodes) {
    roles_.Insert(code.value, role);
  }
}

bool StepCalls::Has(const Optimizers& stepped, RemoteAddr optimizer) {
  return std::ranges::find(stepped, optimizer) != stepped.end();
}

bool StepCalls::OnStep(const void* thread, RemoteAddr optimizer) {
  const bool is_first = trainer_ == nullptr;
  const bool trains = is_first || thread == trainer_ || Has(stepped_, optimizer);
  if (trains) {
    trainer_ = thread;
  }
  if (trains || meanwhile_.size() >= kMaxThreads) {
    meanwhile_.clear();
  }
  Optimizers& stepped = trains ? stepped_ : meanwhile_[thread];
  if (!Has(stepped, optimizer) && stepped.size() < kMaxOptimizers) {
    stepped.push_back(optimizer);
    return is_first;
  }
  trainer_ = thread;
  stepped_ = {optimizer};
  meanwhile_.clear();
  return true;
}

}  // namespace ptrace_prof
