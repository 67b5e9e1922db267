// The reading end of one ring of a channel: single consumer of what one thread of the target produces.
//
// The memory is shared with a target that may write anything there at any time: every word is read once, the indices
// are compared with our own copy of the reading end, and what cannot be is counted and skipped, so that no content
// can make a call read out of bounds, run for longer than the records that fit, or come back with the same ones.
// Borrows the mapping of its Channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attach/abi/channel.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class RingState : uint32_t {
  kFree = PP_RING_FREE,
  kClaimed = PP_RING_CLAIMED,
  kLive = PP_RING_LIVE,
  kEnded = PP_RING_ENDED,
};

// What the target says about a ring; as untrusted as all that it says.
struct RingFacts {
  RingState state = RingState::kFree;
  Tid tid;  // as the target sees it
  RemoteAddr thread_state;
  uint64_t lost_total = 0;
  uint64_t lost = 0;        // of a gap that goes on; of it no record tells yet
  uint64_t lost_since = 0;  // as in records
  uint64_t last_unarmed = 0;
  uint64_t holds = 0;      // how often its threads waited for room, since the channel began
  uint64_t held_time = 0;  // how long; in the clock's units
  RemoteAddr first_frame;  // of the first record; null: not known
};

class RingReader {
 public:
  // `records`: a power of two.
  RingReader(pp_ring* ring, const pp_record* first, uint32_t records)
      : ring_(ring), first_(first), records_(records), chunk_(PP_CHUNK_RECORDS(records)) {}

  RingFacts Facts() const;
  // Records that wait to be read.
  uint64_t Waiting() const;
  // Copies the oldest ones and gives their room back; the number copied.
  size_t Drain(std::span<pp_record> to);
  // At the arming stop: what a thread had begun to decide while unarmed is decided (PP_UNARMED_PENDING): it records.
  void SettlePending();
  // For the next thread. Precondition: kEnded, and drained.
  void Free();

  uint64_t skipped() const { return skipped_; }  // how often the ends made no sense: all between them is lost

 private:
  struct Run {
    const pp_record* first;
    uint64_t count;  // of records that follow each other in memory and in time
    uint64_t end;    // what comes next begins there
  };

  Run RunAt(uint64_t index, uint64_t head) const;

  pp_ring* ring_;
  const pp_record* first_;
  uint32_t records_;
  uint32_t chunk_;     // records in one; all of them: there are no chunks
  uint64_t tail_ = 0;  // ours: what stands in the ring is for the target to read
  uint64_t skipped_ = 0;
};

}  // namespace ptrace_prof
