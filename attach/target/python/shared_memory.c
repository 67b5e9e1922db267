// The memfd that the collector maps, and the private tables of the target. Raw system calls, no Python.
#include "attach/target/shared/sealed_file.h"
#include "attach/target/python/stub.h"

enum {
  PP_PROT_READ_WRITE = 3,
  PP_MAP_SHARED = 1,
  PP_MAP_PRIVATE_ANONYMOUS = 0x22,
  PP_MADV_DONTNEED = 4,
  PP_MADV_DONTFORK = 10,
  PP_MADV_WIPEONFORK = 18,
  PP_ENOMEM = 12,
};

static pp_error_report failed(enum pp_step step, int64_t result) {
  pp_error_report report = {PP_ERROR_SYSTEM_CALL, step, (int32_t)-result};
  if (report.number == PP_ENOMEM) report.error = PP_ERROR_NO_MEMORY;
  return report;
}
// A valid address may be negative as a number; errors are the last 4095 numbers.
static int is_error(int64_t result) { return result < 0 && result >= -4095; }
static const pp_error_report kFine = {PP_ERROR_NONE, PP_STEP_NONE, 0};

static pp_error_report make_file(uint64_t size) {
  uint32_t step = PP_STEP_NONE;
  const int64_t result = pp_make_sealed_file(pp_boot_block.channel_name, size, &pp_self.file, &step);
  return result < 0 ? failed((enum pp_step)step, result) : kFine;
}

static pp_error_report map_channel(uint64_t size) {
  const int64_t where =
      pp_system_call(PP_SYS_mmap, 0, size, PP_PROT_READ_WRITE, PP_MAP_SHARED, (uint64_t)pp_self.file.descriptor, 0);
  if (is_error(where)) return failed(PP_STEP_MAP_CHANNEL, where);
  pp_self.channel = (pp_channel*)where;
  pp_self.channel_size = size;
  const int64_t result = pp_system_call(PP_SYS_madvise, (uint64_t)where, size, PP_MADV_DONTFORK, 0, 0, 0);
  return result < 0 ? failed(PP_STEP_DONT_FORK, result) : kFine;
}

// Zeroes the tables and frees their pages, unless the job has locked all its memory (mlockall).
static void empty_tables(void) {
  const int64_t result =
      pp_system_call(PP_SYS_madvise, (uint64_t)pp_self.tables, sizeof(pp_tables), PP_MADV_DONTNEED, 0, 0, 0);
  volatile uint64_t* words = (volatile uint64_t*)pp_self.tables;
  for (uint64_t i = 0; result < 0 && i < sizeof(pp_tables) / sizeof *words; ++i) words[i] = 0;
}

static pp_error_report map_tables(void) {
  if (pp_self.tables) {
    empty_tables();
    pp_self.tables->page.magic = PP_PRIVATE_MAGIC;
    return kFine;
  }
  const uint64_t size = sizeof(pp_tables);
  const int64_t where = pp_system_call(PP_SYS_mmap, 0, size, PP_PROT_READ_WRITE, PP_MAP_PRIVATE_ANONYMOUS, ~0ull, 0);
  if (is_error(where)) return failed(PP_STEP_MAP_PRIVATE, where);
  const int64_t result = pp_system_call(PP_SYS_madvise, (uint64_t)where, size, PP_MADV_WIPEONFORK, 0, 0, 0);
  if (result < 0) {
    pp_system_call(PP_SYS_munmap, (uint64_t)where, size, 0, 0, 0, 0);
    pp_error_report report = failed(PP_STEP_WIPE_ON_FORK, result);
    report.error = PP_ERROR_NO_WIPE_ON_FORK;
    return report;
  }
  pp_self.tables = (pp_tables*)where;
  pp_self.tables->page.magic = PP_PRIVATE_MAGIC;
  return kFine;
}

pp_error_report pp_map_memory(void) {
  const pp_boot* boot = &pp_boot_block;
  const uint64_t size = PP_CHANNEL_SIZE(boot->ring_count, (uint64_t)boot->ring_records, boot->flags & PP_BOOT_MUTES);
  pp_error_report report = make_file(size);
  if (!report.error) report = map_channel(size);
  if (!report.error) report = map_tables();
  return report;
}

void pp_unmap_memory(void) {
  if (pp_self.channel) pp_system_call(PP_SYS_munmap, (uint64_t)pp_self.channel, pp_self.channel_size, 0, 0, 0, 0);
  pp_unmap_in_child();
}

// The channel was never mapped here, and its address may be in use for something else.
void pp_unmap_in_child(void) {
  pp_self.channel = 0;
  if (pp_self.tables) empty_tables();
  pp_close_sealed_file(&pp_self.file);
}
