// Detects which stack a thread is on, in a program with several (greenlets): switches cause no call or return event.
//
// A frame begins on top of the frame that was innermost at the previous event, and ends as the innermost one. If it
// does not, there are unrecorded calls in between, or it is another stack. Stacks are identified by their outermost
// frames. When a stack is seen for the first time, the frames that it already has are recorded. All this runs only once
// pp_self.follows is set. It costs a few loads per event, and a walk down the stack at a switch. `follows` is set from
// the first event if the program has the module `greenlet`, otherwise from the event that begins to import it: before,
// no switch is possible. The switching functions (greenlets.c) come through here like events.
#include "attach/target/python/switches.h"

#include "attach/target/python/greenlet_module.h"
#include "attach/target/python/ring.h"

enum { PP_MAX_WALK = 1 << 16, PP_FIRST_SHIM_OWNER = 3, PP_IS_NEW = 1 };

// Skips the interpreter's own frames: from 3.12 on there is one where C code calls Python.
static pp_address real(pp_address frame) {
  if (!PP_HAS_FIELD(frame_owner)) return frame;
  while (frame && PP_FIELD(int8_t, frame, frame_owner) >= PP_FIRST_SHIM_OWNER) {
    frame = PP_FIELD(pp_address, frame, frame_previous);
  }
  return frame;
}

static pp_address below(pp_address frame) { return real(PP_FIELD(pp_address, frame, frame_previous)); }

static pp_address outermost(pp_address frame) {
  pp_address next = below(frame);
  for (unsigned i = 0; next && i < PP_MAX_WALK; ++i, next = below(frame)) frame = next;
  return frame;
}

static int put(pp_slot* slot, uint64_t* now, unsigned tag, unsigned what, uint64_t value) {
  if (slot->ring->head >= slot->ring->full_at && !(*now = pp_make_room(slot, *now, tag))) return 0;
  pp_ring* ring = slot->ring;
  ring->last_time = *now;
  pp_write(slot, ring->head, *now, what, value);
  pp_publish(ring, ring->head + 1);
  return 1;
}

// `top`: the innermost frame before the event; 0: none.
static int report_switch(pp_slot* slot, uint64_t* now, unsigned tag, pp_address root, pp_address top) {
  uint64_t* const stacks = pp_self.tables->seen_stacks;
  if (!slot->root) {  // after a gap the contents of all stacks are unknown
    for (unsigned i = 0; i < 1u << PP_SLOT_BITS; ++i) stacks[i] = 0;
  }
  uint64_t* const seen = &stacks[pp_hash(root)];
  const int is_known = *seen == root;
  const unsigned most = PP_MAX_TOLD < pp_boot_block.ring_records / 4 ? PP_MAX_TOLD : pp_boot_block.ring_records / 4;
  pp_address frame = is_known ? 0 : top;
  for (unsigned i = 0; frame && i < most; ++i, frame = below(frame)) {
    if (!put(slot, now, tag, PP_TAG_BELOW, py_code_of(frame))) return 0;
  }
  if (!put(slot, now, tag, PP_TAG_SWITCH, root | (top ? 0 : PP_IS_NEW))) return 0;
  *seen = root;
  return slot->ring->head < slot->ring->full_at || (*now = pp_make_room(slot, *now, tag)) != 0;
}

int pp_follow(pp_slot* slot, unsigned tag, uint64_t* now) {
  const pp_address frame = real(py_current_frame(slot->thread_state));
  if (!frame) return 1;
  if (pp_unlikely(pp_self.greenlet_code != 0)) pp_note_module(tag, py_code_of(frame));
  const pp_address under = below(frame);
  const pp_address top = PP_TAG_IS(tag, PP_OF_FRAME | PP_BEGINS) ? under : frame;
  if (pp_unlikely(!slot->root || !top || top != slot->top)) {
    const pp_address root = top ? outermost(top) : frame;
    if (root != slot->root || !top) {
      if (!report_switch(slot, now, tag, root, top)) {
        slot->root = 0;
        return 0;
      }
      slot->root = root;
    }
  }
  slot->top = PP_TAG_IS(tag, PP_OF_FRAME | PP_ENDS) ? under : frame;
  return 1;
}
