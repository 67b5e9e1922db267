// Which calls of a job are steps of its loop, and which of them end a pass of it.
//
// A loop may have several optimizers (a GAN), some of them not in every pass. A pass ends when an optimizer steps that
// has stepped in it already. So there are as many passes as steps of the most frequent optimizer, as PyTorch's
// KinetoStepTracker counts, but it also holds for one that stops, or comes later. The loop of one thread counts: of the
// first to step, of one that goes on with its optimizers, or of one that makes a whole pass while it makes no step. If
// such calls are within each other, only the outermost is a step: wrappers of optimizers call theirs. One per traced
// process; one thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class StepRole : uint8_t {
  kNone,
  kStep,       // a return from it is a step
  kOptimizer,  // is called in each step of an optimizer, which is its first local
};

class StepCalls {
 public:
  // `code`: the object that is at that address now.
  void Know(RemoteAddr code, StepRole role);
  StepRole RoleOf(uint64_t code) const {
    const StepRole* role = roles_.size() == 0 ? nullptr : roles_.Find(code);
    return role == nullptr ? StepRole::kNone : *role;
  }

  // A step has ended; `optimizer` is null if it is not known. Returns whether a pass ended with it.
  bool OnStep(const void* thread, RemoteAddr optimizer);

 private:
  struct AddressHash {
    uint64_t operator()(uint64_t address) const { return MixHash(address, 0); }
  };
  using Optimizers = std::vector<RemoteAddr>;

  static bool Has(const Optimizers& stepped, RemoteAddr optimizer);

  FlatMap<uint64_t, StepRole, AddressHash> roles_;
  const void* trainer_ = nullptr;
  Optimizers stepped_;                                     // in the current pass
  std::unordered_map<const void*, Optimizers> meanwhile_;  // on other threads, since the last step of the trainer
};

}  // namespace ptrace_prof
