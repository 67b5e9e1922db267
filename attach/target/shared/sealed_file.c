#include "attach/target/shared/sealed_file.h"

#include "attach/abi/channel.h"
#include PP_ARCHITECTURE

enum {
  PP_MFD_CLOEXEC = 1,
  PP_MFD_ALLOW_SEALING = 2,
  PP_MFD_NOEXEC_SEAL = 8,  // required by a kernel with vm.memfd_noexec=2; unknown before 6.3
  PP_F_ADD_SEALS = 1033,
  PP_SEALS = 1 | 2 | 4,  // SEAL, SHRINK, GROW
  PP_RLIMIT_FSIZE = 1,
  PP_EFBIG = 27,
  PP_STAT_WORDS = 32,  // larger than any struct stat; st_dev and st_ino are its first two words
};

// A file longer than RLIMIT_FSIZE would raise SIGXFSZ in the job.
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

int64_t pp_make_open_file(const char* name, uint64_t most, pp_sealed_file* file, uint32_t* step) {
  *step = PP_STEP_FTRUNCATE;
  if (exceeds_file_limit(most)) return -PP_EFBIG;
  *step = PP_STEP_MEMFD_CREATE;
  const uint64_t flags = PP_MFD_CLOEXEC | PP_MFD_ALLOW_SEALING;
  int64_t made = pp_system_call(PP_SYS_memfd_create, (uint64_t)name, flags | PP_MFD_NOEXEC_SEAL, 0, 0, 0, 0);
  if (made < 0) made = pp_system_call(PP_SYS_memfd_create, (uint64_t)name, flags, 0, 0, 0, 0);
  if (made < 0) return made;
  file->descriptor = made;
  *step = PP_STEP_FSTAT;
  return identify(made, &file->device, &file->inode);
}

int64_t pp_make_sealed_file(const char* name, uint64_t size, pp_sealed_file* file, uint32_t* step) {
  int64_t result = pp_make_open_file(name, size, file, step);
  if (result < 0) return result;
  *step = PP_STEP_FTRUNCATE;
  result = pp_system_call(PP_SYS_ftruncate, (uint64_t)file->descriptor, size, 0, 0, 0, 0);
  if (result < 0) return result;
  *step = PP_STEP_SEAL;
  return pp_system_call(PP_SYS_fcntl, (uint64_t)file->descriptor, PP_F_ADD_SEALS, PP_SEALS, 0, 0, 0);
}

int pp_is_file(int64_t descriptor, const pp_sealed_file* file) {
  uint64_t device = 0, inode = 0;
  return descriptor >= 0 && identify(descriptor, &device, &inode) == 0 && device == file->device &&
         inode == file->inode;
}

void pp_close_sealed_file(pp_sealed_file* file) {
  if (pp_is_file(file->descriptor, file)) {
    pp_system_call(PP_SYS_close, (uint64_t)file->descriptor, 0, 0, 0, 0, 0);
  }
  file->descriptor = -1;
}
