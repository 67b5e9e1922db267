// A memfd that can neither shrink, grow, nor be unsealed: the memory that a stub shares with the collector, which finds
// it by its name. And one that the target itself writes, without seals. Raw system calls; any thread.
#ifndef PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_
#define PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_

#include <stdint.h>

typedef struct pp_sealed_file {
  int64_t descriptor;  // -1: none
  uint64_t device, inode;
} pp_sealed_file;

#pragma GCC visibility push(hidden)
// On failure returns -errno and sets `step` to the failed pp_step; `file` must then be closed as well.
int64_t pp_make_sealed_file(const char* name, uint64_t size, pp_sealed_file* file, uint32_t* step);
// `most`: the size that it must be able to reach.
int64_t pp_make_open_file(const char* name, uint64_t most, pp_sealed_file* file, uint32_t* step);
// Whether `descriptor` is this file.
int pp_is_file(int64_t descriptor, const pp_sealed_file* file);
// Does nothing if the number belongs to another file by now: some jobs close all descriptors that they did not open.
void pp_close_sealed_file(pp_sealed_file* file);
#pragma GCC visibility pop

#endif  // PTRACE_PROF_ATTACH_TARGET_SHARED_SEALED_FILE_H_
