#include "daemon/export/memory_ledger.h"

#include <algorithm>
#include <tuple>

#include "daemon/export/memory_categories.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostEvents = 1 << 23;
constexpr size_t kMostStorages = 1 << 25;
constexpr std::string_view kEngineFrame = "autograd::engine::evaluate_function: ";
constexpr std::string_view kOptimizerStep = "Optimizer.step#";
constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
constexpr unsigned kPidShift = 42;  // a process counts its operators from 1

uint64_t HandleKey(Pid pid, uint64_t handle) { return static_cast<uint64_t>(pid.value) << kPidShift ^ handle; }

}  // namespace

MemoryLedger::Kind MemoryLedger::KindOf(const Operator& one) {
  if (one.is_range()) {
    return one.name.starts_with(kOptimizerStep) ? Kind::kOptimizerRange : Kind::kRange;
  }
  if (one.name.starts_with(kEngineFrame)) {
    return Kind::kEngine;
  }
  if (one.scope == OperatorScope::kBackwardFunction) {
    return one.name == kAccumulateGrad ? Kind::kAccumulates : Kind::kBackward;
  }
  return Kind::kOther;
}

bool MemoryLedger::TakeRoom() {
  const bool has_room = kept_.size() + events_.size() < kMostEvents && storages_.size() < kMostStorages;
  left_out_ += has_room ? 0 : 1;
  return has_room;
}

void MemoryLedger::OnOperator(TrackId track, const Operator& one) {
  if (one.is_async || !TakeRoom()) {
    return;
  }
  kept_.push_back({.track = track,
                   .begin = one.begin,
                   .end = one.end,
                   .name = one.name,
                   .handle = one.handle,
                   .storages = storages_.size(),
                   .storage_count = static_cast<uint32_t>(one.storages.size()),
                   .kind = KindOf(one)});
  storages_.insert(storages_.end(), one.storages.begin(), one.storages.end());
}

void MemoryLedger::OnAllocation(TrackId track, const Allocation& one) {
  if (TakeRoom()) {
    events_.push_back({track, one});
  }
}

void MemoryLedger::OnHeldTensor(const HeldTensor& tensor) {
  if (TakeRoom()) {
    held_.push_back(tensor);
  }
}

// Walks the operators of each thread with a stack of those that are open.
void MemoryLedger::FindOutermost() {
  std::ranges::stable_sort(kept_, [](const Kept& a, const Kept& b) {
    return std::tuple(a.track.value, a.begin, b.end) < std::tuple(b.track.value, b.begin, a.end);
  });
  std::vector<const Kept*> open;
  for (Kept& kept : kept_) {
    while (!open.empty() && (open.back()->track != kept.track || open.back()->end <= kept.begin)) {
      open.pop_back();
    }
    const Kept* caller = open.empty() ? nullptr : open.back();
    open.push_back(&kept);
    if (kept.kind == Kind::kOptimizerRange) {
      steps_[kept.track.value].push_back({kept.begin, kept.end});
    }
    if (caller != nullptr && caller->outermost != kNoOperator) {
      kept.outermost = caller->outermost;
    } else if (kept.kind != Kind::kRange && kept.kind != Kind::kOptimizerRange && kept.kind != Kind::kEngine) {
      kept.outermost = static_cast<uint32_t>(outermost_.size());
      const auto step = std::ranges::find(open, Kind::kOptimizerRange, &Kept::kind);
      const bool is_backward = kept.kind == Kind::kBackward || kept.kind == Kind::kAccumulates ||
                               std::ranges::any_of(open, [](const Kept* one) { return one->kind == Kind::kEngine; });
      outermost_.push_back({.track = kept.track,
                            .begin = kept.begin,
                            .end = kept.end,
                            .name = kept.name,
                            .phase = is_backward          ? OperatorPhase::kBackward
                                     : step != open.end() ? OperatorPhase::kOptimizer
                                                          : OperatorPhase::kForward,
                            .accumulates = kept.kind == Kind::kAccumulates,
                            .range_end = step != open.end() ? (*step)->end : Nanos()});
    }
    if (kept.outermost != kNoOperator) {
      by_handle_.emplace(HandleKey(PidOf(kept.track), kept.handle), kept.outermost);
    }
  }
}

uint32_t MemoryLedger::OperatorOf(const Event& event) const {
  if (event.one.operator_handle != 0) {
    const auto found = by_handle_.find(HandleKey(PidOf(event.track), event.one.operator_handle));
    return found != by_handle_.end() ? found->second : kNoOperator;
  }
  // Which one it was in was not known yet.
  const auto key = [](const OutermostOperator& one) { return std::pair(one.track.value, one.begin); };
  const auto after = std::ranges::upper_bound(outermost_, std::pair(event.track.value, event.one.when), {}, key);
  if (after == outermost_.begin()) {
    return kNoOperator;
  }
  const OutermostOperator& last = *(after - 1);
  return last.track == event.track && event.one.when <= last.end ? static_cast<uint32_t>(after - 1 - outermost_.begin())
                                                                 : kNoOperator;
}

void MemoryLedger::AddBlock(const Event& event) {
  const Allocation& one = event.one;
  const Pid pid = PidOf(event.track);
  std::vector<uint32_t>& here = at_place_[{pid.value, one.address}];
  if (one.was_there && !here.empty() && !blocks_[here.back()].is_freed && blocks_[here.back()].bytes >= one.bytes) {
    return;  // it was met before its allocation was read
  }
  if (!here.empty() && !blocks_[here.back()].is_freed) {
    blocks_[here.back()].end = one.when;  // its free was not seen
    blocks_[here.back()].is_freed = true;
  }
  const bool is_first = one.was_there && here.empty();
  here.push_back(static_cast<uint32_t>(blocks_.size()));
  blocks_.push_back({.pid = pid,
                     .device = one.device,
                     .address = one.address,
                     .bytes = one.bytes,
                     .begin = is_first ? begin_ : one.when,
                     .end = end_,
                     .was_there = is_first,
                     .made_on = event.track,
                     .made_by = one.was_there ? kNoOperator : OperatorOf(event)});
}

void MemoryLedger::Apply(const Event& event) {
  if (event.one.bytes > 0) {
    AddBlock(event);
    return;
  }
  const Pid pid = PidOf(event.track);
  const auto here = at_place_.find({pid.value, event.one.address});
  if (here == at_place_.end() || blocks_[here->second.back()].is_freed) {
    return;  // its allocation was lost
  }
  MemoryBlock& block = blocks_[here->second.back()];
  block.end = event.one.when;
  block.is_freed = true;
  block.freed_by = OperatorOf(event);
}

void MemoryLedger::MakeBlocks() {
  std::ranges::stable_sort(events_, {}, [](const Event& event) { return event.one.when; });
  for (const Event& event : events_) {
    Apply(event);
  }
}

uint32_t MemoryLedger::BlockAt(Place place, Nanos when) const {
  const auto here = at_place_.find(place);
  if (here == at_place_.end()) {
    return kNoOperator;
  }
  const auto after = std::ranges::upper_bound(here->second, when, {}, [this](uint32_t i) { return blocks_[i].begin; });
  if (after == here->second.begin()) {
    return kNoOperator;
  }
  const uint32_t block = *(after - 1);
  return blocks_[block].end >= when ? block : kNoOperator;
}

void MemoryLedger::LinkReads() {
  for (const Kept& kept : kept_) {
    if (kept.outermost == kNoOperator) {
      continue;
    }
    OutermostOperator& one = outermost_[kept.outermost];
    for (uint32_t i = 0; i < kept.storage_count; ++i) {
      const uint32_t block = BlockAt({PidOf(kept.track).value, storages_[kept.storages + i]}, kept.begin);
      if (block != kNoOperator && blocks_[block].made_by != kept.outermost &&
          std::ranges::find(one.reads, block) == one.reads.end()) {
        one.reads.push_back(block);
      }
    }
  }
}

void MemoryLedger::LinkMakes() {
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    const MemoryBlock& block = blocks_[i];
    if (block.made_by != kNoOperator && block.made_by != block.freed_by) {
      outermost_[block.made_by].makes.push_back(i);
    }
  }
}

void MemoryLedger::Finish() {
  if (!kept_.empty() || !events_.empty()) {
    begin_ = Nanos(INT64_MAX);
  }
  for (const Kept& kept : kept_) {
    begin_ = std::min(begin_, kept.begin);
    end_ = std::max(end_, kept.end);
  }
  for (const Event& event : events_) {
    begin_ = std::min(begin_, event.one.when);
    end_ = std::max(end_, event.one.when);
  }
  FindOutermost();
  MakeBlocks();
  LinkReads();
  LinkMakes();
  MemoryCategorizer(*this).Run();
}

}  // namespace ptrace_prof
