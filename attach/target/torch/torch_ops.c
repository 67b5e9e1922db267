// The callbacks: what an operator is, in a few records.
//
// Both are called for each operator of each thread, so they avoid system calls except for the names of ranges. The row
// says where the fields of the object are. As long as none is set, the whole object is copied.
#include "attach/target/torch/torch_hook.h"


// In a forked child the page is empty. There, too, an observer of PyTorch that we have switched on would write.
int pp_torch_is_recording(void) {
  const pp_private* page = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  return page && page->magic == PP_PRIVATE_MAGIC && __atomic_load_n(&page->armed, __ATOMIC_RELAXED) == 1;
}

static int is_child(void) {
  const pp_private* page = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  return page && page->magic != PP_PRIVATE_MAGIC;
}

// Whether this call may record. A forked child touches nothing but its own, empty page.
static int may_record(uint64_t now, const char* object) {
  const pp_private* page = __atomic_load_n(&pp_torch_self.private_page, __ATOMIC_ACQUIRE);
  if (!page || page->magic != PP_PRIVATE_MAGIC) {
    if (pp_unlikely(pp_torch_has_trace() && is_child())) pp_torch_quit_trace();
    return 0;
  }
  const pp_torch_arena* arena = pp_torch_self.arena;
  if (pp_unlikely(now > __atomic_load_n(&arena->lease, __ATOMIC_RELAXED) ||
                  __atomic_load_n(&arena->leave, __ATOMIC_RELAXED))) {
    if (pp_torch_has_trace() && !pp_torch_end_trace(now)) return 0;
    pp_torch_leave(__atomic_load_n(&arena->leave, __ATOMIC_RELAXED) ? PP_LEAVE_ASKED : PP_LEAVE_LEASE);
    return 0;
  }
  if (pp_unlikely(pp_torch_has_trace())) {
    if (pp_unlikely(__atomic_load_n(&arena->trace_end, __ATOMIC_RELAXED))) {
      pp_torch_end_trace(now);
    } else {
      pp_torch_watch_trace(object);
    }
  }
  return pp_torch_is_recording();
}

pp_ring* pp_torch_own_ring(void) {
  const uint64_t thread = PP_TORCH_FUNCTION(uint64_t(*)(void), thread_id)();
  const pp_torch_slot* slot = &pp_torch_self.tables->slots[thread & (PP_TORCH_SLOTS - 1)];
  const uint64_t number = __atomic_load_n(&slot->ring, __ATOMIC_RELAXED);
  if (pp_likely(slot->thread == thread && number)) {
    return (pp_ring*)((char*)pp_torch_self.arena + PP_RING_OFFSET(number - 1));
  }
  pp_ring* ring = pp_torch_find_ring(thread);
  if (!ring) __atomic_fetch_add(&pp_torch_self.arena->without_ring, 1, __ATOMIC_RELAXED);
  return ring;
}

uint64_t pp_torch_copy(uint64_t from, void* to, uint64_t size) {
  const uint64_t here[2] = {(uint64_t)to, size}, there[2] = {from, size};
  const int64_t copied = pp_system_call(PP_SYS_process_vm_readv, (uint64_t)pp_torch_boot_block.target_pid,
                                        (uint64_t)here, 1, (uint64_t)there, 1, 0);
  return copied > 0 ? (uint64_t)copied : 0;
}

void pp_torch_write(pp_ring* ring, uint64_t now, uint64_t what, const void* payload, uint64_t units) {
  if (now < ring->last_time) now = ring->last_time;
  if (pp_unlikely(ring->head + 1 + units > ring->full_at || ring->lost) &&
      !pp_torch_make_room(ring, now, 1 + units)) {
    return;
  }
  ring->last_time = now;
  const uint64_t head = ring->head;
  *pp_torch_record(ring, head) = (pp_record){PP_WHEN_TAG(now, PP_TAG_EXTENDED), what};
  for (uint64_t i = 0; i < units; ++i) {
    __builtin_memcpy(pp_torch_record(ring, head + 1 + i), (const pp_unit*)payload + i, sizeof(pp_unit));
  }
  __atomic_store_n(&ring->head, head + 1 + units, __ATOMIC_RELEASE);
}

// Where inputs_ is in all known rows of one C++ ABI, see torch_rows.cc.
enum { PP_INPUTS_AT = 208, PP_INPUTS_AT_OLD_STRINGS = 184 };

static PP_COLD void write_raw(pp_ring* ring, uint64_t now, const char* object) {
  struct {
    pp_torch_raw raw;
    uint64_t inputs[PP_TORCH_MAX_INPUT_WORDS];
  } said;
  pp_torch_raw* raw = &said.raw;
  __builtin_memset(raw, 0, sizeof *raw);
  const uint64_t copied = pp_torch_copy((uint64_t)object, raw->object, sizeof raw->object);
  if (copied < PP_TORCH_AT_FUNCTION + sizeof(uint64_t)) {
    __atomic_fetch_add(&pp_torch_self.arena->unreadable, 1, __ATOMIC_RELAXED);
    return;
  }
  const uint64_t name = *(const uint64_t*)(raw->object + PP_TORCH_AT_FUNCTION);
  raw->has_name = pp_torch_copy(name - PP_TORCH_BEFORE_NAME, raw->name, sizeof raw->name) == sizeof raw->name;
  const uint32_t at =
      pp_torch_boot_block.flags & PP_TORCH_BOOT_OLD_STRINGS ? PP_INPUTS_AT_OLD_STRINGS : PP_INPUTS_AT;
  const uint64_t words =
      pp_torch_self.inputs ? pp_torch_inputs((const uint64_t*)(raw->object + at), 1, said.inputs) : 0;
  raw->inputs_at = words ? at : 0;
  const uint64_t units = (sizeof *raw + words * sizeof(uint64_t)) / sizeof(pp_unit);
  pp_torch_write(ring, now, PP_EXTENDED(PP_EXTENDED_OP_RAW, units, PP_TORCH_KEY(object)), &said, units);
}

// Copies the text of the std::string at `string` and returns its length; 0: it cannot be read.
static PP_COLD uint64_t copy_name(const char* string, uint32_t flags, char* to) {
  const uint64_t text = *(const uint64_t*)string;
  uint64_t length = 0;
  if (!(flags & PP_TORCH_ROW_OLD_STRINGS)) {
    length = *(const uint64_t*)(string + sizeof(uint64_t));
  } else if (pp_torch_copy(text - PP_TORCH_BEFORE_NAME, &length, sizeof length) != sizeof length) {
    return 0;
  }
  if (length > PP_TORCH_MAX_NAME) length = PP_TORCH_MAX_NAME;
  return pp_torch_copy(text, to, length);
}

#define PP_AT(type, offset) (*(const type*)(object + (offset)))

static void write_op(pp_ring* ring, uint64_t now, const char* object, const pp_torch_row* row) {
  struct {
    pp_torch_op op;
    char rest[PP_TORCH_MAX_NAME + PP_TORCH_MAX_INPUT_WORDS * sizeof(uint64_t)];
  } said;
  pp_torch_op* op = &said.op;
  op->function = PP_AT(uint64_t, PP_TORCH_AT_FUNCTION);
  op->handle = PP_AT(uint64_t, row->handle);
  op->sequence = PP_AT(int64_t, row->sequence);
  op->forward_thread = PP_AT(uint32_t, row->forward_thread);
  op->scope = PP_AT(uint8_t, PP_TORCH_AT_SCOPE);
  op->is_async = PP_AT(uint8_t, row->is_async);
  op->name_bytes = 0;
  if (PP_AT(uint8_t, row->function_index) == PP_TORCH_FN_STRING) {
    op->function = 0;
    op->name_bytes = (uint16_t)copy_name(object + PP_TORCH_AT_FUNCTION, row->flags, said.rest);
  }
  uint64_t units = (sizeof *op + op->name_bytes + sizeof(pp_unit) - 1) / sizeof(pp_unit);
  if (pp_torch_self.inputs) {
    uint64_t* inputs = (uint64_t*)((char*)&said + units * sizeof(pp_unit));
    units += pp_torch_row_inputs(&PP_AT(uint64_t, row->inputs), inputs) * sizeof(uint64_t) / sizeof(pp_unit);
  }
  pp_torch_write(ring, now, PP_EXTENDED(PP_EXTENDED_OP, units, PP_TORCH_KEY(object)), &said, units);
}

// Measures the callback that began then, if it is one of those that are measured: 256 ticks of each 16,384. What took
// very long lost its CPU meanwhile.
enum { PP_TIMED_SHIFT = 8, PP_TIMED_MASK = 63, PP_TIMED_MOST = 1 << 16 };
static void time_callback(unsigned which, uint64_t since) {
  if (pp_likely(since >> PP_TIMED_SHIFT & PP_TIMED_MASK)) return;
  const uint64_t ticks = pp_torch_now() - since;
  if (ticks > PP_TIMED_MOST) return;
  __atomic_fetch_add(&pp_torch_self.arena->timed[which].ticks, ticks, __ATOMIC_RELAXED);
  __atomic_fetch_add(&pp_torch_self.arena->timed[which].count, 1, __ATOMIC_RELAXED);
}

// StartCallback. C++ returns its std::unique_ptr<ObserverContext> in memory: `context`. It stays null, so that PyTorch
// has nothing to destroy.
void* pp_torch_on_begin(void** context, const char* object) {
  *context = 0;
  const uint64_t now = pp_torch_now();
  if (!may_record(now, object)) return context;
  pp_ring* ring = pp_torch_own_ring();
  if (!ring) return context;
  const pp_torch_row* row = &pp_torch_self.arena->row;
  if (pp_likely(__atomic_load_n(&row->is_set, __ATOMIC_ACQUIRE))) {
    write_op(ring, now, object, row);
    time_callback(0, now);
  } else {
    write_raw(ring, now, object);
  }
  return context;
}

void pp_torch_on_end(const char* object, void* context) {
  (void)context;
  const uint64_t now = pp_torch_now();
  if (!pp_torch_is_recording()) {
    if (pp_unlikely(pp_torch_has_trace() && is_child())) pp_torch_quit_trace();
    return;
  }
  pp_ring* ring = pp_torch_own_ring();
  if (!ring) return;
  pp_torch_write(ring, now, PP_EXTENDED(PP_EXTENDED_OP_END, 0, PP_TORCH_KEY(object)), 0, 0);
  time_callback(1, now);
}
