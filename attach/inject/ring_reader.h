// The reading end of one ring of a channel: single consumer of what one thread of the target produces.
//
// The target may write anything into this memory at any time. So every word is read once, indices are compared with our
// own copy of the tail, and inconsistent states are counted and skipped. No content can make a call read out of bounds,
// run for longer than the ring's capacity, or return the same records again. Borrows the mapping of its Channel.
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

// The target's fields of a ring; untrusted.
struct RingFacts {
  RingState state = RingState::kFree;
  Tid tid;  // as seen inside the target
  RemoteAddr thread_state;
  uint64_t lost_total = 0;
  uint64_t lost = 0;        // in the current gap, for which there is no record yet
  uint64_t lost_since = 0;  // as in records
  uint64_t last_unarmed = 0;
  uint64_t holds = 0;      // number of waits of its threads for room, since the channel began
  uint64_t held_time = 0;  // total time of these waits, in the clock's units
  RemoteAddr first_frame;  // frame of the first record; null: unknown
};

class RingReader {
 public:
  // `records`: a power of two. `chunk`: how many of them make a chunk.
  RingReader(pp_ring* ring, const pp_record* first, uint32_t records, uint32_t chunk)
      : ring_(ring), first_(first), records_(records), chunk_(chunk) {}
  RingReader(pp_ring* ring, const pp_record* first, uint32_t records)
      : RingReader(ring, first, records, PP_CHUNK_RECORDS(records)) {}

  RingFacts Facts() const;
  // The number of records that wait to be read.
  uint64_t Waiting() const;
  // Copies the oldest records and frees their room; returns the number copied.
  size_t Drain(std::span<pp_record> to);
  // At the arming stop: settles an event that a thread was still deciding about while unarmed (PP_UNARMED_PENDING): it
  // is recorded.
  void SettlePending();
  // Frees the ring for the next thread. Precondition: kEnded, and drained.
  void Free();

  uint64_t skipped() const {
    return skipped_;
  }  // how often the indices were inconsistent: all records between them
     // are lost

 private:
  struct Run {
    const pp_record* first;
    uint64_t count;  // records that follow each other in memory and in time
    uint64_t end;    // where the next run begins
  };

  Run RunAt(uint64_t index, uint64_t head) const;

  pp_ring* ring_;
  const pp_record* first_;
  uint32_t records_;
  uint32_t chunk_;     // records per chunk; equal to records_: there are no chunks
  uint64_t tail_ = 0;  // our own copy: the one in the ring is for the target to read
  uint64_t skipped_ = 0;
};

}  // namespace ptrace_prof
