// The blocks of memory that PyTorch allocated, from the events of a trace: when each was there, which operator made it,
// and what it was for.
//
//   operators, allocations, held tensors ──Finish──► outermost operators ──► blocks ──► categories
//
// An outermost operator is the one that the program or autograd called; ranges and the engine's own frames do not
// count. Memory is bounded by a number of events; what had no room is counted. One owner, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/recording.h"
#include "daemon/trace/allocation.h"
#include "daemon/trace/held_tensor.h"
#include "daemon/trace/operator.h"

namespace ptrace_prof {

// In the order of torch.profiler's memory timeline (torch/profiler/_memory_profiler.py).
enum class MemoryCategory : uint8_t {
  kParameter,  // and buffers
  kOptimizerState,
  kInput,
  kTemporary,
  kActivation,
  kGradient,
  kAutogradDetail,
  kUnknown,
};
inline constexpr size_t kMemoryCategories = 8;

inline constexpr uint32_t kNoOperator = UINT32_MAX;

struct MemoryBlock {
  Pid pid;
  TorchDevice device;
  uint64_t address = 0;
  int64_t bytes = 0;
  Nanos begin;
  Nanos end;               // of the recording, if it was not freed
  bool was_there = false;  // before the recording
  bool is_freed = false;
  TrackId made_on;
  uint32_t made_by = kNoOperator;   // index into operators()
  uint32_t freed_by = kNoOperator;  // likewise
  MemoryCategory category = MemoryCategory::kUnknown;
  std::string_view name;  // of a tensor that a model or an optimizer holds
};

enum class OperatorPhase : uint8_t { kForward, kBackward, kOptimizer };

struct OutermostOperator {
  TrackId track;
  Nanos begin;
  Nanos end;
  std::string_view name;
  OperatorPhase phase = OperatorPhase::kForward;
  bool accumulates = false;     // it puts a gradient in its place
  Nanos range_end;              // kOptimizer: of the step
  std::vector<uint32_t> reads;  // blocks that were there before it
  std::vector<uint32_t> makes;  // blocks that are there after it
};

class MemoryLedger {
 public:
  explicit MemoryLedger(const Recording& recording) : recording_(recording) {}

  void OnOperator(TrackId track, const Operator& one);
  void OnAllocation(TrackId track, const Allocation& one);
  void OnHeldTensor(const HeldTensor& tensor);
  // After the last event. Blocks are in the order of their begins.
  void Finish();

  const std::vector<MemoryBlock>& blocks() const { return blocks_; }
  const std::vector<OutermostOperator>& operators() const { return outermost_; }
  Nanos begin() const { return begin_; }
  Nanos end() const { return end_; }
  bool has_storages() const { return !storages_.empty(); }  // without them only what is held has a category
  uint64_t left_out() const { return left_out_; }           // events

 private:
  enum class Kind : uint8_t { kRange, kOptimizerRange, kEngine, kBackward, kAccumulates, kOther };
  struct Kept {
    TrackId track;
    Nanos begin;
    Nanos end;
    std::string_view name;
    uint64_t handle = 0;
    size_t storages = 0;  // the first one, in storages_
    uint32_t storage_count = 0;
    Kind kind = Kind::kOther;
    uint32_t outermost = kNoOperator;
  };
  struct Event {
    TrackId track;
    Allocation one;
  };
  struct Stretch {
    Nanos begin;
    Nanos end;
  };
  using Place = std::pair<int32_t, uint64_t>;  // pid and address

  static Kind KindOf(const Operator& one);
  Pid PidOf(TrackId track) const { return recording_.threads[track.value].info.pid; }
  bool TakeRoom();
  void FindOutermost();
  void MakeBlocks();
  void Apply(const Event& event);
  uint32_t OperatorOf(const Event& event) const;
  void AddBlock(const Event& event);
  void LinkReads();
  void LinkMakes();
  uint32_t BlockAt(Place place, Nanos when) const;

  const Recording& recording_;
  std::vector<Kept> kept_;
  std::vector<uint64_t> storages_;
  std::vector<Event> events_;
  std::vector<HeldTensor> held_;
  std::vector<OutermostOperator> outermost_;
  std::unordered_map<uint64_t, uint32_t> by_handle_;  // outermost operator, by pid and handle of any in it
  std::map<uint32_t, std::vector<Stretch>> steps_;    // of optimizers, by track, in order of time
  std::vector<MemoryBlock> blocks_;
  std::map<Place, std::vector<uint32_t>> at_place_;  // blocks, in order of time
  Nanos begin_;
  Nanos end_;
  uint64_t left_out_ = 0;

  friend class MemoryCategorizer;
};

}  // namespace ptrace_prof
