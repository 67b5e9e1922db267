// The ring that a thread writes to: finding it by the thread state, and making room in it.
//
// A ring has one writer, its thread; several threads compete only for which one that is. The kind of an event matters
// here only for its effect on the depth of the stack, which a gap records.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_RING_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_RING_H_

#include "attach/target/python/clock.h"

#pragma GCC visibility push(hidden)
PP_COLD pp_slot* pp_find_slot_slowly(pp_address thread);
// Returns the time of the event, for which there is room now. 0: do not write the event; it was counted as lost if it
// should have been recorded.
PP_COLD uint64_t pp_make_room(pp_slot* slot, uint64_t now, unsigned tag);
// The same for an event of `more` records above PP_GROUP_RECORDS.
PP_COLD uint64_t pp_make_room_for(pp_slot* slot, uint64_t now, unsigned tag, uint64_t more);
PP_COLD void pp_count_without_ring(void);
// The address of this thread state belongs to another thread now, or soon will.
PP_COLD void pp_forget_thread(pp_address thread);
// Resets the ring to its initial state. Only before the collector has the channel.
void pp_empty_ring(pp_ring* ring);
void pp_set_ring_size(uint64_t records);
#pragma GCC visibility pop

static inline int pp_is_same_thread(const pp_slot* slot, pp_address thread) {
  return !PP_HAS_FIELD(thread_native_id) || PP_FIELD(int32_t, thread, thread_native_id) == slot->native_id;
}

static inline uint64_t pp_hash(pp_address thread) { return (thread * 0x9e3779b97f4a7c15ull) >> (64 - PP_SLOT_BITS); }

static inline pp_slot* pp_find_slot(pp_address thread) {
  pp_slot* slot = &pp_self.tables->slots[pp_hash(thread)];
  if (pp_likely(__atomic_load_n(&slot->thread_state, __ATOMIC_RELAXED) == thread && pp_is_same_thread(slot, thread))) {
    return slot;
  }
  return pp_find_slot_slowly(thread);
}

static inline void pp_write(const pp_slot* slot, uint64_t index, uint64_t when, unsigned tag, uint64_t value) {
  pp_record* record = &slot->records[index & pp_self.record_mask];
  record->when_tag = PP_WHEN_TAG(when, tag);
  record->value = value;
}

static inline void pp_publish(pp_ring* ring, uint64_t head) { __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE); }

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_RING_H_
