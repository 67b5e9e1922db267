// The arena, the private page that distinguishes a forked child from its parent, and the spare buffers. Control thread,
// except for pp_gpu_may_use_memory.
#include "attach/target/gpu/gpu_shim.h"

enum {
  PP_PROT_READ_WRITE = 3,
  PP_MAP_SHARED = 1,
  PP_MAP_PRIVATE_ANONYMOUS = 0x22,
  PP_MAP_NORESERVE = 0x4000,
  PP_MADV_DONTFORK = 10,
  PP_MADV_DOFORK = 11,
  PP_MADV_WIPEONFORK = 18,
  PP_ENOMEM = 12,
  PP_QUICK_TURNS = 1000,
};

static pp_gpu_report failed(uint32_t error, int64_t result) {
  if (result == -PP_ENOMEM) error = PP_GPU_ERROR_NO_MEMORY;
  return (pp_gpu_report){error, PP_GPU_STEP_MEMORY, (int32_t)-result};
}
static int is_error(int64_t result) { return result < 0 && result >= -4095; }
static const pp_gpu_report kFine = {PP_GPU_ERROR_NONE, PP_GPU_STEP_NONE, 0};

int pp_gpu_may_use_memory(void) {
  const pp_gpu_private* page = __atomic_load_n(&pp_gpu.private_page, __ATOMIC_ACQUIRE);
  return page && __atomic_load_n(&page->alive, __ATOMIC_SEQ_CST) != 0;
}

static int64_t map_private(uint64_t size) {
  return pp_system_call(PP_SYS_mmap, 0, size, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS | PP_MAP_NORESERVE, ~0ull,
                        0);
}

static pp_gpu_report map_private_page(void) {
  if (!pp_gpu.private_page) {
    const int64_t where = map_private(PP_PAGE);
    if (is_error(where)) return failed(PP_GPU_ERROR_SYSTEM_CALL, where);
    const int64_t result = pp_system_call(PP_SYS_madvise, (uint64_t)where, PP_PAGE, PP_MADV_WIPEONFORK, 0, 0, 0);
    if (result < 0) {
      pp_system_call(PP_SYS_munmap, (uint64_t)where, PP_PAGE, 0, 0, 0, 0);
      return failed(PP_GPU_ERROR_NO_WIPE_ON_FORK, result);
    }
    __atomic_store_n(&pp_gpu.private_page, (pp_gpu_private*)where, __ATOMIC_RELEASE);
  }
  pp_gpu.private_page->magic = PP_GPU_PRIVATE_MAGIC;
  return kFine;
}

pp_gpu_report pp_gpu_map_spares(void) {
  if (pp_gpu.spares) return kFine;
  const int64_t where = map_private((uint64_t)PP_GPU_SPARES * PP_GPU_SPARE_BYTES);
  if (is_error(where)) return failed(PP_GPU_ERROR_SYSTEM_CALL, where);
  pp_gpu.spares = (uint8_t*)where;
  return kFine;
}

static void describe(const pp_gpu_boot* boot) {
  pp_gpu_arena* arena = pp_gpu.arena;
  arena->magic = PP_GPU_ARENA_MAGIC;
  arena->abi_version = PP_GPU_ABI_VERSION;
  arena->slot_count = boot->slot_count;
  arena->slot_bytes = boot->slot_bytes;
  arena->stack_bytes = boot->stack_bytes;
  arena->stacks_used = PP_GPU_STACK_UNIT;  // offset 0 stays unused
  arena->backend = boot->backend;
  arena->nonce = boot->nonce;
  arena->size = pp_gpu.arena_size;
  arena->control_tid = (int32_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0);
  for (unsigned kind = 0; kind < PP_GPU_KINDS; ++kind) arena->kind_results[kind] = UINT16_MAX;
}

static void place_launches(const pp_gpu_boot* boot, uint8_t* arena) {
  const uint64_t slots = boot->slot_count, bytes = boot->slot_bytes;
  pp_gpu.stack_bytes = boot->stack_bytes;
  pp_gpu.launches = boot->stack_bytes ? (pp_gpu_launch*)(arena + PP_GPU_LAUNCHES_OFFSET(slots, bytes)) : 0;
  pp_gpu.stack_index = (uint64_t*)(arena + PP_GPU_INDEX_OFFSET(slots, bytes));
  pp_gpu.stacks = arena + PP_GPU_STACKS_OFFSET(slots, bytes);
}

pp_gpu_report pp_gpu_map_memory(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  const uint64_t size = PP_GPU_ARENA_SIZE(boot->slot_count, (uint64_t)boot->slot_bytes, (uint64_t)boot->stack_bytes);
  uint32_t step = 0;
  const int64_t made = pp_make_sealed_file(boot->arena_name, size, &pp_gpu.file, &step);
  if (made < 0) return failed(PP_GPU_ERROR_SYSTEM_CALL, made);
  const pp_gpu_report report = map_private_page();
  if (report.error) return report;
  const uint64_t file = (uint64_t)pp_gpu.file.descriptor;
  const int64_t where = pp_system_call(PP_SYS_mmap, 0, size, PP_PROT_READ_WRITE, PP_MAP_SHARED, file, 0);
  if (is_error(where)) return failed(PP_GPU_ERROR_SYSTEM_CALL, where);
  const int64_t result = pp_system_call(PP_SYS_madvise, (uint64_t)where, size, PP_MADV_DONTFORK, 0, 0, 0);
  pp_gpu.arena_size = size;
  pp_gpu.arena = (pp_gpu_arena*)where;
  if (result < 0) return failed(PP_GPU_ERROR_SYSTEM_CALL, result);
  pp_gpu.slot_count = boot->slot_count;
  pp_gpu.slot_bytes = boot->slot_bytes;
  pp_gpu.slots = (pp_gpu_slot*)(where + (int64_t)PP_GPU_SLOT_OFFSET(0));
  pp_gpu.clocks = (pp_gpu_clock*)(where + (int64_t)PP_GPU_CLOCKS_OFFSET(boot->slot_count));
  pp_gpu.buffers = (uint8_t*)(where + (int64_t)PP_GPU_BUFFER_OFFSET(boot->slot_count, (uint64_t)boot->slot_bytes, 0));
  place_launches(boot, (uint8_t*)where);
  describe(boot);
  __atomic_store_n(&pp_gpu.private_page->alive, 1, __ATOMIC_SEQ_CST);
  return kFine;
}

// Waits until no thread is in a callback that uses the memory; no new one will use it. The wait is unbounded, because a
// thread in a callback has read the memory's address, and may lack a CPU.
static void await_quiet(void) {
  __atomic_store_n(&pp_gpu.private_page->alive, 0, __ATOMIC_SEQ_CST);
  for (int turn = 0; __atomic_load_n(&pp_gpu.users, __ATOMIC_SEQ_CST) != 0; ++turn) {
    const uint64_t pause[2] = {0, turn < PP_QUICK_TURNS ? 1000000 : 100000000};
    uint32_t nothing = 0;
    pp_system_call(PP_SYS_futex, (uint64_t)&nothing, 0 /* FUTEX_WAIT */, 0, (uint64_t)pause, 0, 0);
  }
}

uint64_t pp_gpu_buffers_out(void) {
  uint64_t held = 0;
  for (uint64_t i = 0; i < pp_gpu.slot_count; ++i) {
    held += __atomic_load_n(&pp_gpu.slots[i].state, __ATOMIC_ACQUIRE) == PP_GPU_SLOT_HELD;
  }
  return held;
}

// The library may still write to a buffer that it has not given back. So its memory stays, and children inherit it,
// because they could no longer map memory of their own there (in_child).
void pp_gpu_unmap_memory(void) {
  pp_gpu_arena* arena = pp_gpu.arena;
  if (arena) {
    if (pp_gpu.private_page) await_quiet();
    const int unused = pp_gpu.slots == 0 || pp_gpu_buffers_out() == 0;
    if (!unused) pp_system_call(PP_SYS_madvise, (uint64_t)arena, pp_gpu.arena_size, PP_MADV_DOFORK, 0, 0, 0);
    pp_gpu.arena = 0;
    pp_gpu.slots = 0;
    pp_gpu.slot_count = 0;
    pp_gpu.launches = 0;
    if (unused) pp_system_call(PP_SYS_munmap, (uint64_t)arena, pp_gpu.arena_size, 0, 0, 0, 0);
  }
  pp_close_sealed_file(&pp_gpu.file);
}
