#include "daemon/export/memory_categories.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace ptrace_prof {
namespace {

// By TensorRole.
constexpr MemoryCategory kOfRole[] = {MemoryCategory::kParameter, MemoryCategory::kParameter, MemoryCategory::kGradient,
                                      MemoryCategory::kOptimizerState};

}  // namespace

bool MemoryCategorizer::Set(uint32_t block, MemoryCategory category) {
  MemoryCategory& own = ledger_.blocks_[block].category;
  const bool is_free = own == MemoryCategory::kUnknown;
  own = is_free ? category : own;
  return is_free;
}

bool MemoryCategorizer::IsOfModel(uint32_t block) const {
  const MemoryCategory category = ledger_.blocks_[block].category;
  return category == MemoryCategory::kParameter || category == MemoryCategory::kActivation;
}

void MemoryCategorizer::TakeHeld() {
  for (const HeldTensor& tensor : ledger_.held_) {
    const uint32_t block = ledger_.BlockAt({tensor.pid.value, tensor.address}, tensor.when);
    if (block == kNoOperator) {
      continue;
    }
    has_parameters_ = has_parameters_ || tensor.role == TensorRole::kParameter;
    if (Set(block, kOfRole[static_cast<size_t>(tensor.role)])) {
      ledger_.blocks_[block].name = tensor.name;
    }
  }
}

void MemoryCategorizer::TakeGradients() {
  for (const OutermostOperator& one : ledger_.outermost_) {
    if (one.accumulates) {
      for (const auto* blocks : {&one.reads, &one.makes}) {
        for (const uint32_t block : *blocks) {
          Set(block, MemoryCategory::kGradient);
        }
      }
    }
  }
}

void MemoryCategorizer::TakeTemporaries() {
  for (uint32_t i = 0; i < ledger_.blocks_.size(); ++i) {
    const MemoryBlock& block = ledger_.blocks_[i];
    if (block.made_by != kNoOperator && block.made_by == block.freed_by) {
      Set(i, MemoryCategory::kTemporary);
    }
  }
}

void MemoryCategorizer::TakeOptimizer() {
  for (const OutermostOperator& one : ledger_.outermost_) {
    if (one.phase == OperatorPhase::kOptimizer) {
      for (const uint32_t block : one.makes) {
        SetOfStep(block, one.range_end);
      }
    }
  }
  // Numbers become tensors before an operator gets them.
  for (uint32_t i = 0; i < ledger_.blocks_.size(); ++i) {
    const MemoryBlock& block = ledger_.blocks_[i];
    const auto step = ledger_.steps_.find(block.made_on.value);
    if (block.was_there || block.made_by != kNoOperator || step == ledger_.steps_.end()) {
      continue;
    }
    const auto after = std::ranges::upper_bound(step->second, block.begin, {}, &MemoryLedger::Stretch::begin);
    if (after != step->second.begin() && block.begin <= (after - 1)->end) {
      SetOfStep(i, (after - 1)->end);
    }
  }
}

void MemoryCategorizer::SetOfStep(uint32_t block, Nanos step_end) {
  Set(block, Outlives(block, step_end) ? MemoryCategory::kOptimizerState : MemoryCategory::kTemporary);
}

bool MemoryCategorizer::Outlives(uint32_t block, Nanos when) const {
  const MemoryBlock& one = ledger_.blocks_[block];
  return !one.is_freed || one.end > when;
}

void MemoryCategorizer::GuessModel() {
  std::unordered_set<uint32_t> forward;
  for (const OutermostOperator& one : ledger_.outermost_) {
    if (one.phase == OperatorPhase::kForward) {
      forward.insert(one.reads.begin(), one.reads.end());
    }
  }
  for (const OutermostOperator& one : ledger_.outermost_) {
    if (one.phase != OperatorPhase::kOptimizer) {
      continue;
    }
    for (const uint32_t block : one.reads) {
      if (Outlives(block, one.range_end) && ledger_.blocks_[block].begin < one.begin) {
        Set(block, forward.contains(block) ? MemoryCategory::kParameter : MemoryCategory::kOptimizerState);
      }
    }
  }
}

void MemoryCategorizer::TakeForward() {
  for (const uint32_t i : in_order_) {
    const OutermostOperator& one = ledger_.outermost_[i];
    if (one.phase == OperatorPhase::kForward &&
        std::ranges::any_of(one.reads, [this](uint32_t block) { return IsOfModel(block); })) {
      for (const uint32_t block : one.makes) {
        Set(block, MemoryCategory::kActivation);
      }
    }
  }
}

// From the last operator to the first: what an input was made from is one, too.
void MemoryCategorizer::TakeInputs() {
  for (auto i = in_order_.rbegin(); i != in_order_.rend(); ++i) {
    const OutermostOperator& one = ledger_.outermost_[*i];
    if (one.phase == OperatorPhase::kForward && std::ranges::any_of(one.makes, [this](uint32_t block) {
          const MemoryCategory category = ledger_.blocks_[block].category;
          return category == MemoryCategory::kActivation || category == MemoryCategory::kInput;
        })) {
      for (const uint32_t block : one.reads) {
        Set(block, MemoryCategory::kInput);
      }
    }
  }
}

void MemoryCategorizer::TakeBackward() {
  for (const OutermostOperator& one : ledger_.outermost_) {
    if (one.phase == OperatorPhase::kBackward) {
      for (const uint32_t block : one.makes) {
        Set(block, MemoryCategory::kAutogradDetail);
      }
    }
  }
}

void MemoryCategorizer::Run() {
  in_order_.resize(ledger_.outermost_.size());
  std::iota(in_order_.begin(), in_order_.end(), 0u);
  std::ranges::stable_sort(in_order_, {}, [this](uint32_t i) { return ledger_.outermost_[i].begin; });
  TakeHeld();
  TakeGradients();
  TakeTemporaries();
  TakeOptimizer();
  if (!has_parameters_) {
    GuessModel();
  }
  TakeForward();
  TakeInputs();
  TakeBackward();
}

}  // namespace ptrace_prof
