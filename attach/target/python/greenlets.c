// The functions in front of those that switch between greenlets (greenlet_module.h). They record when the thread leaves
// a stack and when it continues in one, which causes no event by itself. Resident: a waiting greenlet has one of them
// on its stack.
#include "attach/target/python/greenlets.h"

#include "attach/target/python/event.h"

static PP_COLD void report(int leaves) {
  if (!pp_is_armed() || !pp_self.follows) return;
  const pp_address thread = py_thread_state();
  if (!thread || PP_FIELD(pp_address, thread, thread_interp) != pp_switches.interpreter) return;
  uint64_t now;
  pp_slot* slot = pp_begin_event(thread, PP_TAG_SWITCH, &now);
  if (!slot || !leaves) return;
  const uint64_t head = slot->ring->head;
  pp_write(slot, head, now, PP_TAG_LEAVES, 0);
  pp_publish(slot->ring, head + 1);
}

#define PP_SWITCH(name, way)                           \
  static void* name(void* a, void* b, void* c, void* d) { \
    report(1);                                           \
    void* result = pp_switches.before[way](a, b, c, d);   \
    report(0);                                           \
    return result;                                     \
  }
PP_SWITCH(method_switch, PP_METHOD_SWITCH)
PP_SWITCH(method_throw, PP_METHOD_THROW)
PP_SWITCH(c_switch, PP_C_SWITCH)
PP_SWITCH(c_throw, PP_C_THROW)

const pp_switch pp_greenlet_switches[PP_WAYS] = {&method_switch, &method_throw, &c_switch, &c_throw};
