// The memfd that the collector maps, and the private tables of the target. Raw system calls.
#include "attach/target/torch/torch_hook.h"

enum {
  PP_PROT_NONE = 0,
  PP_PROT_READ_WRITE = 3,
  PP_MAP_SHARED = 1,
  PP_MAP_FIXED = 0x10,
  PP_MAP_PRIVATE_ANONYMOUS = 0x22,
  PP_MAP_NORESERVE = 0x4000,
  PP_MADV_DONTNEED = 4,
  PP_MADV_DONTFORK = 10,
  PP_MADV_WIPEONFORK = 18,
  PP_ENOMEM = 12,
};
static const pp_torch_report kFine = {PP_ERROR_NONE, PP_STEP_NONE, 0};

static pp_torch_report failed(enum pp_step step, int64_t result) {
  pp_torch_report report = {PP_ERROR_SYSTEM_CALL, step, (int32_t)-result};
  if (report.number == PP_ENOMEM) report.error = PP_ERROR_NO_MEMORY;
  return report;
}
static int is_error(int64_t result) { return result < 0 && result >= -4095; }

static int64_t map(uint64_t where, uint64_t size, uint64_t access, uint64_t flags, int64_t descriptor) {
  return pp_system_call(PP_SYS_mmap, where, size, access, flags, (uint64_t)descriptor, 0);
}

// One address range for the shared memory of all captures, so that a late callback of any of them finds memory there.
static pp_torch_report reserve(void) {
  if (pp_torch_self.arena) return kFine;
  const int64_t where = map(0, PP_TORCH_MAX_ARENA, PP_PROT_NONE, PP_MAP_PRIVATE_ANONYMOUS | PP_MAP_NORESERVE, -1);
  if (is_error(where)) return failed(PP_STEP_MAP_CHANNEL, where);
  pp_torch_self.arena = (pp_torch_arena*)where;
  return kFine;
}

static pp_torch_report map_arena(uint64_t size) {
  pp_torch_report report = reserve();
  if (report.error) return report;
  uint32_t step = PP_STEP_NONE;
  const int64_t made = pp_make_sealed_file(pp_torch_boot_block.arena_name, size, &pp_torch_self.file, &step);
  if (made < 0) return failed((enum pp_step)step, made);
  const uint64_t where = (uint64_t)pp_torch_self.arena;
  const int64_t mapped = map(where, size, PP_PROT_READ_WRITE, PP_MAP_SHARED | PP_MAP_FIXED, pp_torch_self.file.descriptor);
  if (is_error(mapped)) return failed(PP_STEP_MAP_CHANNEL, mapped);
  pp_torch_self.arena_size = size;
  const int64_t result = pp_system_call(PP_SYS_madvise, where, size, PP_MADV_DONTFORK, 0, 0, 0);
  return result < 0 ? failed(PP_STEP_DONT_FORK, result) : kFine;
}

static pp_torch_report map_tables(void) {
  if (!pp_torch_self.tables) {
    const int64_t where = map(0, sizeof(pp_torch_tables), PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS, -1);
    if (is_error(where)) return failed(PP_STEP_MAP_PRIVATE, where);
    const int64_t result =
        pp_system_call(PP_SYS_madvise, (uint64_t)where, sizeof(pp_torch_tables), PP_MADV_WIPEONFORK, 0, 0, 0);
    if (result < 0) {
      pp_system_call(PP_SYS_munmap, (uint64_t)where, sizeof(pp_torch_tables), 0, 0, 0, 0);
      pp_torch_report report = failed(PP_STEP_WIPE_ON_FORK, result);
      report.error = PP_ERROR_NO_WIPE_ON_FORK;
      return report;
    }
    pp_torch_self.tables = (pp_torch_tables*)where;
  }
  pp_torch_self.tables->page.magic = PP_PRIVATE_MAGIC;
  return kFine;
}

pp_torch_report pp_torch_map(void) {
  const uint64_t size = PP_TORCH_ARENA_SIZE(pp_torch_boot_block.ring_count, pp_torch_boot_block.ring_records);
  pp_torch_report report = map_arena(size);
  if (!report.error) report = map_tables();
  return report;
}

// A late callback still finds memory there: zero pages, of which it may touch a few.
void pp_torch_unmap(void) {
  const uint64_t where = (uint64_t)pp_torch_self.arena;
  if (pp_torch_self.arena_size) {
    map(where, pp_torch_self.arena_size, PP_PROT_READ_WRITE,
        PP_MAP_PRIVATE_ANONYMOUS | PP_MAP_NORESERVE | PP_MAP_FIXED, -1);
    pp_torch_self.arena_size = 0;
  }
  if (pp_torch_self.tables) {
    volatile uint64_t* words = (volatile uint64_t*)pp_torch_self.tables;
    const uint64_t size = sizeof(pp_torch_tables);
    if (pp_system_call(PP_SYS_madvise, (uint64_t)words, size, PP_MADV_DONTNEED, 0, 0, 0) < 0) {
      for (uint64_t i = 0; i < size / sizeof *words; ++i) words[i] = 0;  // locked memory (mlockall)
    }
  }
  pp_close_sealed_file(&pp_torch_self.file);
}
