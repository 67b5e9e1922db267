// The way of one event from a callback into the ring of its thread: no system call, no allocation, no lock.
//
// Everything here is inlined into the callbacks. What happens rarely is in event.c: the first event of a thread, a full
// ring, events while unarmed, a forked child, a lost lease.
#ifndef PTRACE_PROF_ATTACH_INTARGET_EVENT_H_
#define PTRACE_PROF_ATTACH_INTARGET_EVENT_H_

#include "attach/intarget/stub.h"

// An event with all that is told of it. `more_tag` and `self` are 0 where there is nothing.
typedef struct pp_event {
  unsigned tag;
  uint64_t value;
  unsigned more_tag;
  uint64_t more;
  uint64_t self;
} pp_event;

PP_COLD pp_slot* pp_find_slot_slowly(pp_address thread);
// Whether there is room now; if not, the event is counted as lost.
PP_COLD int pp_make_room(pp_slot* slot, uint64_t now, unsigned tag);
// Whether it must be recorded after all; see pp_ring.last_unarmed.
PP_COLD int pp_event_while_unarmed(const pp_private* page, pp_address thread, unsigned tag);
PP_COLD void pp_count_without_ring(void);
// Another thread has got the address of this thread state, or will.
PP_COLD void pp_forget_thread(pp_address thread);
PP_COLD uint64_t pp_nanoseconds(void);

static inline uint64_t pp_now(void) { return pp_likely(pp_self.clock == PP_CLOCK_TSC) ? pp_ticks() : pp_nanoseconds(); }

static inline int pp_is_same_thread(const pp_slot* slot, pp_address thread) {
  return !PP_HAS_FIELD(thread_native_id) || PP_FIELD(int32_t, thread, thread_native_id) == slot->tid;
}

static inline uint64_t pp_hash(pp_address thread) { return (thread * 0x9e3779b97f4a7c15ull) >> pp_self.slot_shift; }

static inline pp_slot* pp_find_slot(pp_address thread) {
  pp_slot* slot = &pp_self.slots[pp_hash(thread)];
  if (pp_likely(__atomic_load_n(&slot->thread_state, __ATOMIC_RELAXED) == thread && pp_is_same_thread(slot, thread))) {
    return slot;
  }
  return pp_find_slot_slowly(thread);
}

// Whether events are recorded on this thread now. Called first: in a forked child it alone keeps us off the channel.
static inline int pp_is_recording(pp_address thread, unsigned tag) {
  const pp_private* page = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (pp_unlikely(!page)) return 0;
  if (pp_likely(__atomic_load_n(&page->armed, __ATOMIC_RELAXED) == 1)) return 1;
  return pp_event_while_unarmed(page, thread, tag);
}

static inline void pp_write(pp_slot* slot, uint64_t index, uint64_t when, unsigned tag, uint64_t value) {
  pp_record* record = &slot->records[index & pp_self.record_mask];
  record->when_tag = when << PP_TAG_BITS | tag;
  record->value = value;
}

static inline void pp_record_event(pp_address thread, pp_event event) {
  uint64_t now = pp_now();
  if (pp_unlikely(now > __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED))) {
    pp_leave_from_hook(PP_LEAVE_LEASE);
    return;
  }
  pp_slot* slot = pp_find_slot(thread);
  if (pp_unlikely(!slot)) {
    pp_count_without_ring();
    return;
  }
  pp_ring* ring = slot->ring;
  if (pp_unlikely(now < ring->last_time)) now = ring->last_time;
  if (pp_unlikely(ring->head - ring->tail_seen > pp_self.room) && !pp_make_room(slot, now, event.tag)) return;
  ring->last_time = now;
  uint64_t head = ring->head;
  pp_write(slot, head++, now, event.tag, event.value);
  if (event.more_tag) pp_write(slot, head++, now, event.more_tag, event.more);
  if (event.self) pp_write(slot, head++, now, PP_TAG_SELF, event.self);
  __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
}

// The first local of a frame that begins, where the collector asked for that of its code; else 0.
static inline uint64_t pp_asked_self(pp_address thread, pp_address code) {
  const uint64_t* asked = pp_self.channel->module_code;
  for (unsigned i = 0; i < 8 && pp_unlikely(asked[i] != 0); ++i) {
    if (asked[i] == code) {
      const uint64_t local = PP_FIELD(uint64_t, py_current_frame(thread), frame_locals);
      return local & ~(uint64_t)pp_boot_block.frame_tag_mask;
    }
  }
  return 0;
}

// A frame of `code` begins or stops to run.
static inline void pp_frame_event(pp_address thread, unsigned tag, pp_address code) {
  pp_event event = {tag, code, 0, 0, 0};
  if (py_may_suspend(code)) {
    event.more_tag = PP_TAG_FRAME;
    event.more = py_current_frame(thread);
  }
  if (tag == PP_TAG_START) event.self = pp_asked_self(thread, code);
  pp_record_event(thread, event);
}

// PyMethodDef of a function written in C, or 0.
static inline uint64_t pp_method_of(const pp_object* callable) {
  const pp_object* type = py_type(callable);
  if (type == PP_OBJECT(PyCFunction_Type) || type == PP_OBJECT(PyCMethod_Type)) {
    return PP_FIELD(uint64_t, callable, method_def);
  }
  if (type == PP_OBJECT(PyMethodDescr_Type) || type == PP_OBJECT(PyClassMethodDescr_Type)) {
    return PP_FIELD(uint64_t, callable, descriptor_method);
  }
  return 0;
}

static inline void pp_call_event(pp_address thread, unsigned tag, const pp_object* callable) {
  pp_event event = {tag, (uint64_t)callable, 0, 0, 0};
  if (tag == PP_TAG_C_CALL) {
    event.more = pp_method_of(callable);
    event.more_tag = event.more ? PP_TAG_CODE : 0;
  }
  pp_record_event(thread, event);
}

#endif  // PTRACE_PROF_ATTACH_INTARGET_EVENT_H_
