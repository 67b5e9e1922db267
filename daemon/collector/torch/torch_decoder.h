// Turns the records of the torch hook into operators: matches ends with begins, and finds out the layout meanwhile.
//
//   ring of a thread ──Feed──► open operators ──an end──► the sink
//
// An operator may end on another thread than it began on: a range that waits for a future does. It is asynchronous
// then. As long as the layout is unknown, everything waits; see TorchRowChoice. Everything comes from the target's
// memory and is untrusted; memory is bounded. One owner, one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/calls/extended_record.h"
#include "daemon/collector/calls/tick_map.h"
#include "daemon/collector/torch/torch_blocks.h"
#include "daemon/collector/torch/torch_rows.h"
#include "daemon/collector/torch/torch_storages.h"
#include "daemon/trace/allocation.h"
#include "daemon/trace/operator.h"

namespace ptrace_prof {

struct TorchCounts {
  uint64_t operators = 0;  // written
  uint64_t lost = 0;       // events that a ring had no room for
  uint64_t unmatched = 0;  // ends of operators that had begun before, or in a gap
  uint64_t without_name = 0;
  uint64_t allocations = 0;     // allocations and frees, written
  uint64_t unknown_blocks = 0;  // freed, but allocated before, or their allocation was lost
  uint64_t strange = 0;         // records that make no sense
};

class TorchDecoder {
 public:
  struct Sinks {
    std::function<void(Tid tid, const Operator& one)> operators;
    std::function<void(Tid tid, const Allocation& one)> allocations;  // if any are recorded
  };

  TorchDecoder(RemoteMemory& memory, Sinks sinks) : memory_(memory), choice_(memory), sinks_(std::move(sinks)) {}

  // Records of the ring number `ring`, which the thread `tid` (as the target sees it) with PyTorch's number `thread`
  // owns now. If allocations are recorded, records must come in the order of time over all rings.
  void Feed(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records, const TickMap& ticks, Nanos now);
  // A tensor that is there, by its storage: seen by others than operators. `tid`: goes into what is written.
  void Meet(Tid tid, const TensorStorage& storage, Nanos when);
  // The thread of that ring has ended, or the recording has.
  void EndRing(size_t ring, Nanos when, OperatorEnd ending);
  // After the last records: takes the layout that fits what there was, and closes everything.
  void Finish(Nanos when);

  const TorchRow* row() const { return row_; }  // null: not known yet
  bool is_hopeless() const { return choice_.IsHopeless(); }
  const TorchCounts& counts() const { return counts_; }

 private:
  struct Open {
    uint32_t key = 0;
    Operator one;
    std::string range;                  // its name, of a range
    std::unique_ptr<pp_torch_raw> raw;  // as long as there is no row
    std::vector<uint64_t> inputs;       // as the hook writes them; empty: not recorded
    std::vector<uint64_t> storages;     // of its tensors
    bool has_ended = false;
  };
  struct Ring {
    Tid tid;
    uint64_t thread = 0;
    ExtendedRecord record;
    std::deque<Open> open;  // outermost first
    Nanos last;
    bool has_gap = false;  // it lost events: begins may be missing
  };
  // On a ring that does not know the begin: it may come yet, from another ring.
  struct StrayEnd {
    uint32_t key = 0;
    Nanos when;
  };

  void Take(Ring& ring, Nanos when);
  bool TakeOperator(Ring& ring, Open open);
  bool TakeRaw(Ring& ring, Open open);
  bool TakeMemory(Ring& ring, Nanos when);
  void Begin(Ring& ring, Open open);
  void End(Ring& ring, uint32_t key, Nanos when);
  std::pair<Ring*, Open*> FindElsewhere(uint32_t key, Nanos when, const Ring& ended_on);
  void KeepStray(const Ring& ring, const StrayEnd& end);
  void EndIfStray(Open& open);
  bool Describe(Ring& ring, Open& open);
  void Write(const Ring& ring, const Open& open);
  void WriteEnded(Ring& ring);
  void CloseAll(Ring& ring, Nanos when, OperatorEnd ending);
  void LookForRow(bool is_last);
  const SchemaName& NameOf(uint64_t schema);
  const SchemaName& Remember(uint64_t schema, const SchemaName& name);
  void LearnFrom(Ring& ring, Open& open);
  const OperatorInputs* InputsOf(const std::vector<uint64_t>& words);

  RemoteMemory& memory_;
  TorchRowChoice choice_;
  const TorchRow* row_ = nullptr;
  Sinks sinks_;
  TorchBlocks blocks_;
  std::deque<StrayEnd> stray_ends_;  // newest last
  std::unordered_map<size_t, Ring> rings_;
  std::unordered_map<uint64_t, SchemaName> names_;          // by schema
  std::string key_;                                         // scratch
  std::vector<const Open*> ended_;                          // scratch
  std::unordered_map<std::string, OperatorInputs> inputs_;  // by the hook's words
  uint32_t last_inputs_ = 0;                                // number of the newest
  uint32_t list_tag_ = 0;                                   // of lists in an IValue; 0: none was met
  size_t waiting_ = 0;                                      // operators without a row
  TorchCounts counts_;
};

}  // namespace ptrace_prof
