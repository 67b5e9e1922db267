// The collector's side of the memory that it shares with the torch hook in a target (attach/abi/torch_arena.h).
//
// Take() checks the file as Channel::Take does, and everything in it is as untrusted. Owns the mapping; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/channel.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/ring_reader.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct TorchArenaShape {
  uint32_t rings = 0;
  uint32_t records = 0;  // of each ring; a power of two, PP_TORCH_MIN_RING_RECORDS..PP_TORCH_MAX_RING_RECORDS
  uint64_t nonce = 0;

  uint64_t size() const { return PP_TORCH_ARENA_SIZE(rings, records); }
};

class TorchArena {
 public:
  // kUnavailable: not ready yet, try again. TRACER_LOST: not the requested memory.
  static Result<TorchArena> Take(const UniqueFd& file, const TorchArenaShape& shape);
  // Ends a capture whose arena may be another collector's. Does nothing to other files.
  static void AskToLeave(const UniqueFd& file);

  ChannelState state() const;
  bool has_left() const { return state() == ChannelState::kLeft; }
  bool lost_lease() const;  // why it left
  // Sets the time until which the hook continues without hearing from us, in units of the arena's clock.
  void RenewLease(uint64_t until);
  // The hook removes itself at the next operator.
  void AskToLeave();
  // Records from now on, or no longer. Errors: kGone; TRACER_LOST: the page that the target names is not its own.
  Result<void> SetArmed(RemoteMemory& memory, RemoteWriter& writer, bool armed);
  // From now on operators are described by their fields. `row` was checked.
  void SetRow(const pp_torch_row& row);

  std::vector<RingReader>& rings() { return rings_; }
  const std::vector<RingReader>& rings() const { return rings_; }
  bool inputs_off() const;        // tensors are of no known layout
  uint64_t memory_slots() const;  // of the boot block: how many lead to the hook
  bool is_unreadable() const;     // the process may not copy its own operators (process_vm_readv)
  double CostTicks() const;       // of an operator, as the hook measured some of its callbacks; 0: not measured
  // PyTorch's own execution trace: pp_torch_trace_state; how often it had to be paused.
  uint32_t trace_state() const;
  uint32_t trace_pauses() const;
  void EndTrace();                // at the next operator
  uint64_t without_ring() const;  // operators of threads for which no ring was free

 private:
  struct Unmapper {
    size_t size;
    void operator()(uint8_t* begin) const;
  };

  TorchArena(uint8_t* begin, const TorchArenaShape& shape);
  pp_torch_arena& head() const { return *reinterpret_cast<pp_torch_arena*>(memory_.get()); }
  Result<void> ReadHead(const TorchArenaShape& shape);

  std::unique_ptr<uint8_t, Unmapper> memory_;
  std::vector<RingReader> rings_;
  RemoteAddr private_page_;
};

}  // namespace ptrace_prof
