// The rare cases of an event: see event.h. System calls are allowed here; locks and allocations are not.
#include "attach/target/python/event.h"

#include "attach/target/python/greenlet_module.h"

enum { PP_MAX_ASKED = 8 };

// The first local of a frame that begins, if the collector wants it for this code; else 0.
static uint64_t asked_self(pp_address thread, pp_address code) {
  const uint64_t* asked = pp_self.channel->self_code;
  for (unsigned i = 0; i < PP_MAX_ASKED && asked[i] != 0; ++i) {
    if (asked[i] == code) {
      const uint64_t local = PP_FIELD(uint64_t, py_current_frame(thread), frame_locals);
      return local & ~(uint64_t)pp_boot_block.frame_tag_mask;
    }
  }
  return 0;
}

void pp_record_frame(pp_address thread, unsigned tag, pp_address code) {
  if (tag == PP_TAG_START && !py_is_function(code)) pp_note_module(tag, code);
  uint64_t now;
  const pp_slot* slot = pp_begin_event(thread, tag, &now);
  if (!slot) return;
  pp_ring* ring = slot->ring;
  uint64_t head = ring->head;
  pp_write(slot, head++, now, tag, code);
  if (py_may_suspend(code)) pp_write(slot, head++, now, PP_TAG_FRAME, py_current_frame(thread));
  const uint64_t self = tag == PP_TAG_START ? asked_self(thread, code) : 0;
  if (self) pp_write(slot, head++, now, PP_TAG_SELF, self);
  pp_publish(ring, head);
}

// The stub may have to leave here too: if all running code is muted, no other event comes.
int pp_is_muted(const pp_mute* mute, pp_address code, unsigned tag) {
  const uint64_t check = __atomic_load_n(&mute->check, __ATOMIC_RELAXED);
  const uint64_t line = (uint64_t)(int64_t)PP_FIELD(int32_t, code, code_first_line);
  if ((check & ~PP_MUTE_FLAGS) !=
      PP_MUTE_CHECK(PP_FIELD(uint64_t, code, code_name), PP_FIELD(uint64_t, code, code_filename), line)) {
    return 0;
  }
  return !(check & PP_MUTE_BEGINS) || !PP_TAG_IS(tag, PP_ENDS);
}

int pp_event_while_unarmed(const pp_private* page, pp_address thread, unsigned tag) {
  if (page->magic != PP_PRIVATE_MAGIC) {
    pp_leave_from_hook(PP_LEAVE_FORKED);
    return 0;
  }
  const pp_address frame = py_current_frame(thread);
  if ((tag == PP_TAG_START || tag == PP_TAG_RETURN) && PP_HAS_FIELD(frame_code)) {
    const pp_address code = py_code_of(frame);
    if (!py_is_function(code)) pp_note_module(tag, code);
  }
  pp_slot* slot = pp_find_slot(thread);
  if (!slot) return __atomic_load_n(&page->armed, __ATOMIC_SEQ_CST) == 1;
  const uint64_t word = PP_UNARMED(frame, tag);
  __atomic_store_n(&slot->ring->last_unarmed, word | PP_UNARMED_PENDING, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&page->armed, __ATOMIC_SEQ_CST) == 1) return 1;
  if (__atomic_exchange_n(&slot->ring->last_unarmed, word, __ATOMIC_SEQ_CST) != (word | PP_UNARMED_PENDING)) return 1;
  const uint64_t lease = __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED);
  if (__atomic_load_n(&pp_self.channel->leave, __ATOMIC_RELAXED) || pp_now() > lease) pp_leave_as_told();
  return 0;
}

void pp_record_extended(pp_address thread, uint64_t what, const pp_unit* payload) {
  const uint64_t units = PP_EXTENDED_UNITS(what);
  uint64_t now;
  pp_slot* slot = units <= PP_CALL_UNITS ? pp_begin_event(thread, PP_TAG_EXTENDED, &now) : 0;
  if (!slot) return;
  if (slot->ring->head + units >= slot->ring->full_at && !(now = pp_make_room_for(slot, now, PP_TAG_EXTENDED, units))) {
    slot->root = 0;
    return;
  }
  pp_ring* ring = slot->ring;
  uint64_t head = ring->head;
  ring->last_time = now;
  pp_write(slot, head++, now, PP_TAG_EXTENDED, what);
  for (uint64_t i = 0; i < units; ++i) {
    __builtin_memcpy(&slot->records[head++ & pp_self.record_mask], &payload[i], sizeof(pp_unit));
  }
  pp_publish(ring, head);
}
