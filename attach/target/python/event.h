// Writes an event from a callback into the ring of its thread: no system call, no allocation, no lock. If the collector
// wants it (pp_boot.longest_hold), a thread with a full ring waits for room, for a bounded time.
//
// Everything here is inlined into the callbacks. Rare cases are in event.c (events while unarmed, a forked child) and
// in ring.c (the first event of a thread, a full ring).
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_H_

#include "attach/target/python/leave.h"
#include "attach/target/python/ring.h"
#include "attach/target/python/switches.h"

#pragma GCC visibility push(hidden)
// Writes an extended record of at most PP_CALL_UNITS. Only while events are recorded on this thread.
PP_COLD void pp_record_extended(pp_address thread, uint64_t what, const pp_unit* payload);
// Whether the event must be recorded after all; see pp_ring.last_unarmed.
PP_COLD int pp_event_while_unarmed(const pp_private* page, pp_address thread, unsigned tag);
// For a frame of code that may be suspended, that is not a function, or whose first local is wanted.
void pp_record_frame(pp_address thread, unsigned tag, pp_address code);
// Whether this event of `code`, which has a mute entry, is left out.
PP_COLD int pp_is_muted(const pp_mute* mute, pp_address code, unsigned tag);
#pragma GCC visibility pop

// Whether events are recorded on this thread now. Call it first: in a forked child only this check protects the
// channel.
static inline int pp_is_recording(pp_address thread, unsigned tag) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (pp_unlikely(!page)) return 0;
  if (pp_likely(__atomic_load_n(&page->armed, __ATOMIC_RELAXED) == 1)) return 1;
  return pp_event_while_unarmed(page, thread, tag);
}

// The same, if an event with another tag may follow.
static inline int pp_is_armed(void) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  return page && __atomic_load_n(&page->armed, __ATOMIC_RELAXED) == 1;
}

// The entry of `code` in the table, or null. Only while events are recorded: a forked child has no table.
static inline const pp_mute* pp_find_mute(pp_address code) {
  const pp_mute* mutes = pp_self.mutes;
  if (pp_likely(!mutes)) return 0;
  const uint64_t place = PP_MUTE_HASH(code);
  for (uint64_t i = 0; i < PP_MUTE_PROBES; ++i) {
    const pp_mute* mute = &mutes[(place + i) & (PP_MUTE_ENTRIES - 1)];
    const uint64_t found = __atomic_load_n(&mute->code, __ATOMIC_ACQUIRE);
    if (pp_likely(!found)) return 0;
    if (found == code) return mute;
  }
  return 0;
}

// Finds room for a whole event in the thread's ring, and returns the event's time in `now`; null: write nothing.
static inline pp_slot* pp_begin_event(pp_address thread, unsigned tag, uint64_t* now) {
  const uint64_t time = pp_now();
  if (pp_unlikely(time > __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED))) {
    pp_leave_as_told();
    return 0;
  }
  pp_slot* slot = pp_find_slot(thread);
  if (pp_unlikely(!slot)) {
    pp_count_without_ring();
    return 0;
  }
  pp_ring* ring = slot->ring;
  *now = pp_likely(time >= ring->last_time) ? time : ring->last_time;
  if (pp_unlikely(ring->head >= ring->full_at)) {
    *now = pp_make_room(slot, *now, tag);
    if (!*now) {  // the ring itself may be gone
      slot->root = 0;
      return 0;
    }
  }
  if (pp_unlikely(pp_self.follows) && !pp_follow(slot, tag, now)) return 0;
  ring = slot->ring;
  ring->last_time = *now;
  return slot;
}

// The common case: one record.
static inline __attribute__((always_inline)) void pp_record_one(pp_address thread, unsigned tag, uint64_t value) {
  uint64_t now;
  const pp_slot* slot = pp_begin_event(thread, tag, &now);
  if (pp_unlikely(!slot)) return;
  pp_ring* ring = slot->ring;
  const uint64_t head = ring->head;
  pp_write(slot, head, now, tag, value);
  pp_publish(ring, head + 1);
}

// Whether an event with PP_TAG_START or RETURN, or of a C call, needs the slow path while pp_self.is_special.
static inline int pp_is_special(unsigned tag, uint64_t value) {
  if (pp_self.clock != PP_CLOCK_TSC || pp_self.follows || tag == PP_TAG_C_CALL) return 1;
  if (tag != PP_TAG_START && tag != PP_TAG_RETURN) return 0;
  return __atomic_load_n(&pp_self.mutes[PP_MUTE_HASH(value)].code, __ATOMIC_ACQUIRE) != 0;
}

// The entry in which the ring remembers that the class of that method was recorded.
static inline uint64_t* pp_owned_at(const pp_slot* slot, uint64_t method) {
  return &slot->owned[(method * 0x9e3779b97f4a7c15ull) >> 56];
}
PP_STATIC_ASSERT(PP_OWNED == 256, "by eight bits");

// The fast path of most events, without any call: for this thread, with room in its ring. Returns false if it did
// nothing and the slow path is needed. `more`: a second record, or 0.
static inline __attribute__((always_inline)) int pp_record_quickly(pp_address thread, unsigned tag, uint64_t value,
                                                                   uint64_t more) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (pp_unlikely(!page || __atomic_load_n(&page->armed, __ATOMIC_RELAXED) != 1)) return 0;
  if (pp_unlikely(pp_self.is_special) && pp_is_special(tag, value)) return 0;
  if (tag == PP_TAG_START && pp_unlikely(pp_self.channel->self_code[0] != 0)) return 0;
  const uint64_t time = pp_ticks();
  const pp_slot* slot = &pp_self.tables->slots[pp_hash(thread)];
  if (pp_unlikely(__atomic_load_n(&slot->thread_state, __ATOMIC_RELAXED) != thread ||
                  !pp_is_same_thread(slot, thread) ||
                  time > __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED))) {
    return 0;
  }
  pp_ring* ring = slot->ring;
  const uint64_t head = ring->head;
  if (pp_unlikely(head >= ring->full_at || time < ring->last_time)) return 0;
  if (tag == PP_TAG_C_CALL && pp_unlikely(!more || *pp_owned_at(slot, more) != more)) return 0;
  ring->last_time = time;
  pp_write(slot, head, time, tag, value);
  if (more) pp_write(slot, head + 1, time, PP_TAG_CODE, more);
  pp_publish(ring, head + (more ? 2 : 1));
  return 1;
}

// The same for a frame of code that is never suspended and, if it begins, is a function.
static inline __attribute__((always_inline)) int pp_frame_quickly(pp_address thread, unsigned tag, pp_address code) {
  const int is_plain = tag == PP_TAG_START ? py_is_function(code) : !py_may_suspend(code);
  return pp_likely(is_plain) && pp_record_quickly(thread, tag, code, 0);
}

// A frame of `code` begins or stops running.
static inline __attribute__((always_inline)) void pp_frame_event(pp_address thread, unsigned tag, pp_address code) {
  const int asked = tag == PP_TAG_START && (pp_self.channel->self_code[0] != 0 || !py_is_function(code));
  if (pp_unlikely(asked || py_may_suspend(code))) {
    pp_record_frame(thread, tag, code);
  } else {
    pp_record_one(thread, tag, code);
  }
}

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_EVENT_H_
