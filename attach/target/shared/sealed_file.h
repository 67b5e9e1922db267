// A memfd that can neither shrink nor grow nor be unsealed: what a stub shares with the collector, which takes it by
// its name. Raw system calls; any thread.
#ifndef PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_
#define PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_

#include <stdint.h>

typedef struct pp_sealed_file {
  int64_t descriptor;  // -1: none
  uint64_t device, inode;
} pp_sealed_file;

#pragma GCC visibility push(hidden)
// -errno, and which pp_step that was, on failure; `file` is then to be closed as well.
int64_t pp_make_sealed_file(const char* name, uint64_t size, pp_sealed_file* file, uint32_t* step);
// Unless its number is another file's by now: some jobs close all descriptors that they did not open.
void pp_close_sealed_file(pp_sealed_file* file);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_
