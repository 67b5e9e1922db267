// The memfd that the collector takes, and the private tables of the target alone. Raw system calls, no Python.
#include "attach/intarget/stub.h"

enum {
  PP_MFD_CLOEXEC = 1,
  PP_MFD_ALLOW_SEALING = 2,
  PP_MFD_NOEXEC_SEAL = 8,  // what a kernel with vm.memfd_noexec=2 insists on; unknown before 6.3
  PP_F_ADD_SEALS = 1033,
  PP_SEALS = 1 | 2 | 4,  // SEAL, SHRINK, GROW
  PP_RLIMIT_FSIZE = 1,
  PP_PROT_READ_WRITE = 3,
  PP_MAP_SHARED = 1,
  PP_MAP_PRIVATE_ANONYMOUS = 0x22,
  PP_MADV_DONTNEED = 4,
  PP_MADV_DONTFORK = 10,
  PP_MADV_WIPEONFORK = 18,
  PP_EFBIG = 27,
  PP_ENOMEM = 12,
  PP_STAT_WORDS = 32,  // more than any struct stat; st_dev and st_ino are its first two words
};

static pp_error_report failed(enum pp_step step, int64_t result) {
  pp_error_report report = {PP_ERROR_SYSTEM_CALL, step, (int32_t)-result};
  if (report.number == PP_ENOMEM) report.error = PP_ERROR_NO_MEMORY;
  return report;
}
// An address may look negative; an error is one of the last 4095 numbers.
static int is_error(int64_t result) { return result < 0 && result >= -4095; }
static const pp_error_report kFine = {PP_ERROR_NONE, PP_STEP_NONE, 0};

// A file longer than RLIMIT_FSIZE would mean SIGXFSZ for the job.
static int exceeds_file_limit(uint64_t size) {
  uint64_t limits[2] = {~0ull, ~0ull};
  const int64_t result = pp_system_call(PP_SYS_prlimit64, 0, PP_RLIMIT_FSIZE, 0, (uint64_t)limits, 0, 0);
  return result == 0 && limits[0] < size;
}

static int64_t identify(int64_t descriptor, uint64_t* device, uint64_t* inode) {
  uint64_t status[PP_STAT_WORDS] = {0};
  const int64_t result = pp_system_call(PP_SYS_fstat, (uint64_t)descriptor, (uint64_t)status, 0, 0, 0, 0);
  *device = status[0];
  *inode = status[1];
  return result;
}

static pp_error_report make_file(uint64_t size) {
  if (exceeds_file_limit(size)) return failed(PP_STEP_FTRUNCATE, -PP_EFBIG);
  const uint64_t flags = PP_MFD_CLOEXEC | PP_MFD_ALLOW_SEALING;
  const uint64_t name = (uint64_t)pp_boot_block.channel_name;
  int64_t file = pp_system_call(PP_SYS_memfd_create, name, flags | PP_MFD_NOEXEC_SEAL, 0, 0, 0, 0);
  if (file < 0) file = pp_system_call(PP_SYS_memfd_create, name, flags, 0, 0, 0, 0);
  if (file < 0) return failed(PP_STEP_MEMFD_CREATE, file);
  pp_self.descriptor = file;
  int64_t result = identify(file, &pp_self.device, &pp_self.inode);
  if (result < 0) return failed(PP_STEP_FSTAT, result);
  result = pp_system_call(PP_SYS_ftruncate, (uint64_t)file, size, 0, 0, 0, 0);
  if (result < 0) return failed(PP_STEP_FTRUNCATE, result);
  result = pp_system_call(PP_SYS_fcntl, (uint64_t)file, PP_F_ADD_SEALS, PP_SEALS, 0, 0, 0);
  return result < 0 ? failed(PP_STEP_SEAL, result) : kFine;
}

static pp_error_report map_channel(uint64_t size) {
  const int64_t where =
      pp_system_call(PP_SYS_mmap, 0, size, PP_PROT_READ_WRITE, PP_MAP_SHARED, (uint64_t)pp_self.descriptor, 0);
  if (is_error(where)) return failed(PP_STEP_MAP_CHANNEL, where);
  pp_self.channel = (pp_channel*)where;
  pp_self.channel_size = size;
  const int64_t result = pp_system_call(PP_SYS_madvise, (uint64_t)where, size, PP_MADV_DONTFORK, 0, 0, 0);
  return result < 0 ? failed(PP_STEP_DONT_FORK, result) : kFine;
}

// All zero, without a page of it in use.
static void empty_tables(void) {
  pp_system_call(PP_SYS_madvise, (uint64_t)pp_self.tables, sizeof(pp_tables), PP_MADV_DONTNEED, 0, 0, 0);
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

// The number may be another file's by now: some jobs close all descriptors that they did not open.
static void close_file(void) {
  uint64_t device = 0, inode = 0;
  if (pp_self.descriptor >= 0 && identify(pp_self.descriptor, &device, &inode) == 0 && device == pp_self.device &&
      inode == pp_self.inode) {
    pp_system_call(PP_SYS_close, (uint64_t)pp_self.descriptor, 0, 0, 0, 0, 0);
  }
  pp_self.descriptor = -1;
}

void pp_unmap_memory(void) {
  if (pp_self.channel) pp_system_call(PP_SYS_munmap, (uint64_t)pp_self.channel, pp_self.channel_size, 0, 0, 0, 0);
  pp_unmap_in_child();
}

// The channel was never mapped here, and its address may be somebody's now.
void pp_unmap_in_child(void) {
  pp_self.channel = 0;
  if (pp_self.tables) empty_tables();
  close_file();
}
