// The end of a capture in the target, and in a child forked meanwhile: see leave.h.
#include "attach/target/python/leave.h"

#include "attach/target/python/greenlet_module.h"

static void leave_in_child(void) {
  __atomic_store_n(&pp_self.private_page, (pp_private*)0, __ATOMIC_RELEASE);
  pp_self.freeing_code = 0;  // set by a thread that does not exist here
  pp_self.hooks->remove();
  pp_unwatch_switches();
  pp_unmap_in_child();
}

static void leave_in_target(enum pp_leave_cause cause) {
  __atomic_store_n(&pp_self.private_page->armed, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&pp_self.channel->watches_code, 0, __ATOMIC_SEQ_CST);  // before an object is freed unrecorded
  __atomic_store_n(&pp_self.private_page, (pp_private*)0, __ATOMIC_SEQ_CST);
  pp_self.hooks->remove();
  pp_unwatch_switches();
  pp_self.channel->leave_cause = cause;
  pp_self.channel->hooks_displaced = pp_self.hooks_displaced;
  __atomic_store_n(&pp_self.channel->state, PP_STATE_LEFT, __ATOMIC_RELEASE);
  pp_unmap_memory();
}

void pp_leave_from_hook(enum pp_leave_cause cause) {
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(&pp_self.leaving, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  const pp_private* page = pp_self.private_page;
  if (page) {
    const pp_preserved kept = py_preserve();
    if (page->magic == PP_PRIVATE_MAGIC) {
      leave_in_target(cause);
    } else {
      leave_in_child();
    }
    py_restore(kept);
    __atomic_store_n(&pp_boot_block.busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&pp_self.leaving, 0, __ATOMIC_RELEASE);
}

void pp_leave_as_told(void) {
  pp_leave_from_hook(__atomic_load_n(&pp_self.channel->leave, __ATOMIC_RELAXED) ? PP_LEAVE_ASKED : PP_LEAVE_LEASE);
}
