// The beginning and the end of a capture in the target: see torch_hook.h.
#include "attach/target/torch/torch_hook.h"

pp_torch_hook pp_torch_self = {.file = {.descriptor = -1}, .trace = {.stream = -1, .file = {.descriptor = -1}}};

// at::RecordFunctionCallback: the same from 1.13 to 2.15. It is trivially copyable, so it is passed on the stack.
enum { PP_TORCH_SCOPES = 10 };
typedef struct pp_torch_callback {
  void* start;
  void* end;
  double sampling_probability;
  uint8_t scopes[PP_TORCH_SCOPES];
  uint8_t needs_inputs, needs_outputs, needs_ids;
} pp_torch_callback;
PP_STATIC_ASSERT(sizeof(pp_torch_callback) == 40 && offsetof(pp_torch_callback, needs_ids) == 36, "as in PyTorch");

static int is_target(void) {
  return (int32_t)pp_system_call(PP_SYS_getpid, 0, 0, 0, 0, 0, 0) == pp_torch_boot_block.target_pid;
}

static int boot_makes_sense(void) {
  const pp_torch_boot* boot = &pp_torch_boot_block;
  const uint32_t records = boot->ring_records;
  for (unsigned i = 0; i < PP_TORCH_FN_COUNT; ++i) {
    if (!boot->functions[i] && i != PP_TORCH_FN_clock_gettime && i < PP_TORCH_FN_memory_new) return 0;
  }
  for (unsigned i = 0; i < PP_TORCH_MEMORY_SLOTS; ++i) {
    const pp_torch_slot_of* slot = &boot->memory[i];
    if (slot->at && (slot->at % sizeof(uint64_t) || slot->function < PP_TORCH_FN_memory_new ||
                     slot->function >= PP_TORCH_FN_COUNT || !boot->functions[slot->function])) {
      return 0;
    }
  }
  return boot->abi_version == PP_TORCH_ABI_VERSION && boot->ring_count > 0 && boot->ring_count <= PP_MAX_RINGS &&
         records >= PP_TORCH_MIN_RING_RECORDS && records <= PP_TORCH_MAX_RING_RECORDS && (records & (records - 1)) == 0 &&
         PP_TORCH_ARENA_SIZE(boot->ring_count, records) <= PP_TORCH_MAX_ARENA;
}

static void describe_arena(void) {
  pp_torch_arena* arena = pp_torch_self.arena;
  const pp_torch_boot* boot = &pp_torch_boot_block;
  arena->magic = PP_TORCH_MAGIC;
  arena->abi_version = PP_TORCH_ABI_VERSION;
  arena->ring_count = boot->ring_count;
  arena->ring_records = boot->ring_records;
  arena->clock = boot->clock;
  arena->nonce = boot->nonce;
  arena->private_page = (uint64_t)&pp_torch_self.tables->page;
  arena->size = pp_torch_self.arena_size;
  arena->lease = boot->lease;
}

static pp_torch_report begin(void) {
  pp_torch_report report = {PP_ERROR_BOOT, PP_STEP_NONE, 0};
  if (!boot_makes_sense()) return report;
  report = pp_torch_map();
  if (report.error) return report;
  pp_torch_self.rings = pp_torch_boot_block.ring_count;
  pp_torch_self.record_mask = pp_torch_boot_block.ring_records - 1;
  pp_torch_self.clock = pp_torch_boot_block.clock;
  describe_arena();
  __atomic_store_n(&pp_torch_self.private_page, &pp_torch_self.tables->page, __ATOMIC_SEQ_CST);
  pp_torch_callback callback = {.start = (void*)&pp_torch_on_begin,
                                .end = (void*)&pp_torch_on_end,
                                .sampling_probability = 1.0,
                                .needs_ids = 1};
  pp_torch_self.tables->inputs_seen = 0;
  pp_torch_self.inputs = pp_torch_boot_block.flags & PP_TORCH_BOOT_INPUTS;
  callback.needs_inputs = pp_torch_self.inputs != 0;
  for (unsigned i = 0; i < PP_TORCH_SCOPES; ++i) callback.scopes[i] = 1;
  pp_torch_self.arena->memory_slots = pp_torch_take_slots();  // before anything can leave
  pp_torch_self.callback = PP_TORCH_FUNCTION(uint64_t(*)(pp_torch_callback), add_callback)(callback);
  if (pp_torch_boot_block.flags & PP_TORCH_BOOT_TRACE) pp_torch_begin_trace();  // after our callback, see torch_trace.c
  __atomic_store_n(&pp_torch_self.arena->state, PP_STATE_READY, __ATOMIC_RELEASE);
  return report;
}

// Nothing is installed; writes the reason where the collector reads it.
static void give_up(pp_torch_report report) {
  pp_torch_boot_block.error = report.error;
  pp_torch_boot_block.error_step = report.step;
  pp_torch_boot_block.error_number = report.number;
  pp_torch_unmap();
}

void pp_torch_leave(enum pp_leave_cause cause) {
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(&pp_torch_self.leaving, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  pp_private* page = pp_torch_self.private_page;
  if (page && page->magic == PP_PRIVATE_MAGIC) {
    __atomic_store_n(&page->armed, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&pp_torch_self.private_page, (pp_private*)0, __ATOMIC_SEQ_CST);
    PP_TORCH_FUNCTION(void (*)(uint64_t), remove_callback)(pp_torch_self.callback);
    pp_torch_self.callback = 0;
    pp_torch_return_slots();
    pp_torch_self.arena->leave_cause = cause;
    __atomic_store_n(&pp_torch_self.arena->state, PP_STATE_LEFT, __ATOMIC_RELEASE);
    pp_torch_unmap();
    __atomic_store_n(&pp_torch_boot_block.busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&pp_torch_self.leaving, 0, __ATOMIC_RELEASE);
}

// An earlier capture may still be here: it would leave at the next operator, which may never come.
static void end_earlier(void) {
  const pp_private* page = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  if (!page || page->magic != PP_PRIVATE_MAGIC) return;
  if (pp_torch_self.arena->leave || pp_torch_now() > pp_torch_self.arena->lease) {
    pp_torch_wait_for_trace();
    pp_torch_leave(PP_LEAVE_ASKED);
  }
}

// The collector calls this where no operator runs.
static void bring_end_forward(void) {
  const pp_private* page = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  if (!page || page->magic != PP_PRIVATE_MAGIC || !pp_torch_self.arena->leave) return;
  if (!pp_torch_has_trace() || pp_torch_end_trace(pp_torch_now())) pp_torch_leave(PP_LEAVE_ASKED);
}

// This process was forked while its parent was recorded. The shared memory was never mapped here, and its address may be
// in use for something else. The inherited callback does nothing, but it may not have asked for inputs.
static void forget_parent(void) {
  pp_torch_forget_trace();
  __atomic_store_n(&pp_torch_self.private_page, (pp_private*)0, __ATOMIC_SEQ_CST);
  if (pp_torch_self.callback) PP_TORCH_FUNCTION(void (*)(uint64_t), remove_callback)(pp_torch_self.callback);
  pp_torch_self.callback = 0;
  pp_torch_self.arena = 0;
  pp_torch_self.arena_size = 0;
  pp_torch_self.leaving = 0;  // set by a thread that does not exist here
  pp_close_sealed_file(&pp_torch_self.file);
  __atomic_store_n(&pp_torch_boot_block.busy, 0, __ATOMIC_RELEASE);
}

int pp_torch_enter(void* unused) {
  (void)unused;
  if (!is_target()) return 0;  // a forked copy of the queued call, or of the script that loads us
  const pp_private* inherited = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  if (inherited && inherited->magic != PP_PRIVATE_MAGIC) forget_parent();
  if (pp_torch_boot_block.served == pp_torch_boot_block.nonce) {
    bring_end_forward();
    return 0;
  }
  end_earlier();
  uint64_t expected = 0;
  if (!__atomic_compare_exchange_n(&pp_torch_boot_block.busy, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return 0;
  }
  const pp_torch_report report = begin();
  pp_torch_boot_block.error = PP_ERROR_NONE;
  if (report.error) {
    give_up(report);
    __atomic_store_n(&pp_torch_boot_block.busy, 0, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&pp_torch_boot_block.served, pp_torch_boot_block.nonce, __ATOMIC_RELEASE);
  return 0;
}
