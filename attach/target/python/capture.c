// The beginning and the end of a capture in the target.
#include "attach/target/python/greenlets.h"
#include "attach/target/python/leave.h"
#include "attach/target/python/ring.h"

static int is_target(void) {
  return (int32_t)pp_system_call(PP_SYS_getpid, 0, 0, 0, 0, 0, 0) == pp_boot_block.target_pid;
}

static int boot_makes_sense(void) {
  const pp_boot* boot = &pp_boot_block;
  const uint32_t records = boot->ring_records;
  return boot->abi_version == PP_ABI_VERSION && boot->ring_count > 0 && boot->ring_count <= PP_MAX_RINGS &&
         records >= PP_MIN_RING_RECORDS && records <= PP_MAX_RING_RECORDS && (records & (records - 1)) == 0;
}

static void describe_channel(void) {
  pp_channel* channel = pp_self.channel;
  const pp_boot* boot = &pp_boot_block;
  channel->magic = PP_CHANNEL_MAGIC;
  channel->abi_version = PP_ABI_VERSION;
  channel->ring_count = boot->ring_count;
  channel->ring_records = boot->ring_records;
  channel->clock = boot->clock;
  channel->nonce = boot->nonce;
  channel->private_page = (uint64_t)&pp_self.tables->page;
  channel->leave_entry = (uint64_t)&pp_leave;
  channel->size = pp_self.channel_size;
  channel->tool_id = UINT32_MAX;
  channel->lease = boot->lease;
}

static pp_error_report begin(uint64_t text) {
  pp_error_report report = {PP_ERROR_BOOT, PP_STEP_NONE, 0};
  if (!boot_makes_sense()) return report;
  report = pp_map_memory();
  if (report.error) return report;
  describe_channel();
  pp_set_ring_size(pp_boot_block.ring_records);
  pp_self.clock = pp_boot_block.clock;
  pp_self.longest_hold = pp_boot_block.longest_hold;
  pp_self.c_calls = pp_boot_block.flags & PP_BOOT_C_CALLS;
  pp_self.mutes = 0;
  if (pp_boot_block.flags & PP_BOOT_MUTES) {
    const uint64_t where = PP_MUTES_OFFSET(pp_boot_block.ring_count, (uint64_t)pp_boot_block.ring_records);
    pp_self.mutes = (pp_mute*)((char*)pp_self.channel + where);
  }
  pp_self.switches = pp_greenlet_switches;
  pp_self.follows = (uint64_t)pp_has_greenlets();
  pp_self.greenlet_code = 0;
  pp_self.is_special = pp_self.clock != PP_CLOCK_TSC || pp_self.mutes || pp_self.follows;
  pp_self.sweep = 0;
  pp_self.hooks_displaced = 0;
  pp_self.tool_id = UINT32_MAX;
  pp_self.hooks = py_is(PP_PYTHON_MONITORING) ? &pp_monitoring_hooks : &pp_profile_hooks;
  __atomic_store_n(&pp_self.private_page, &pp_self.tables->page, __ATOMIC_RELEASE);
  report = pp_self.hooks->install();
  if (report.error) {
    __atomic_store_n(&pp_self.private_page, (pp_private*)0, __ATOMIC_RELEASE);
    return report;
  }
  if (pp_self.follows) pp_watch_switches();
  if (pp_self.channel->watches_code) pp_self.channel->own_text = text;
  pp_self.channel->tool_id = pp_self.tool_id;
  __atomic_store_n(&pp_self.channel->state, PP_STATE_READY, __ATOMIC_RELEASE);
  return report;
}

// Nothing is installed any more; writes the reason where the collector reads it.
static void give_up(pp_error_report report) {
  pp_boot_block.error = report.error;
  pp_boot_block.error_step = report.step;
  pp_boot_block.error_number = report.number;
  pp_channel* channel = pp_self.channel;
  if (channel) {
    channel->nonce = pp_boot_block.nonce;
    channel->error = report.error;
    channel->error_step = report.step;
    channel->error_number = report.number;
    __atomic_store_n(&channel->state, PP_STATE_FAILED, __ATOMIC_RELEASE);
  }
  pp_unmap_memory();
}

int pp_leave(void* unused) {
  (void)unused;
  pp_leave_from_hook(PP_LEAVE_ASKED);
  return 0;
}

int pp_enter(void* text) {
  if (!is_target()) return 0;  // a forked copy of the queued call, or of the script that loads us
  const pp_private* inherited = __atomic_load_n(&pp_self.private_page, __ATOMIC_ACQUIRE);
  if (inherited && inherited->magic != PP_PRIVATE_MAGIC) pp_leave_from_hook(PP_LEAVE_FORKED);
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(&pp_boot_block.busy, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 0;
  if (pp_boot_block.served == pp_boot_block.nonce) {
    __atomic_store_n(&pp_boot_block.busy, 0, __ATOMIC_RELEASE);
    return 0;
  }
  const pp_preserved kept = py_preserve();
  // Installing may run code of the job (audit hooks), and so cause events: they must not end a half-made capture.
  __atomic_store_n(&pp_self.leaving, 1, __ATOMIC_SEQ_CST);
  const pp_error_report report = begin((uint64_t)text);
  __atomic_store_n(&pp_self.leaving, 0, __ATOMIC_SEQ_CST);
  if (report.error) {
    give_up(report);
    __atomic_store_n(&pp_boot_block.busy, 0, __ATOMIC_RELEASE);
  } else {
    pp_boot_block.error = PP_ERROR_NONE;
  }
  __atomic_store_n(&pp_boot_block.served, pp_boot_block.nonce, __ATOMIC_RELEASE);
  py_restore(kept);
  return 0;
}
