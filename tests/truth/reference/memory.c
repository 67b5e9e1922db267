#define _GNU_SOURCE
#include <sys/uio.h>

#include "reference.h"

bool ReadMemory(pid_t pid, uint64_t address, void *into, size_t size) {
  struct iovec here = {into, size};
  struct iovec there = {(void *)address, size};  // NOLINT(performance-no-int-to-ptr): an address over there
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool ReadPieces(pid_t pid, const struct Piece *pieces, int count) {
  enum { kAtOnce = 512 };
  struct iovec here[kAtOnce], there[kAtOnce];
  for (int from = 0; from < count; from += kAtOnce) {
    int many = count - from < kAtOnce ? count - from : kAtOnce;
    ssize_t wanted = 0;
    for (int index = 0; index < many; ++index) {
      const struct Piece *piece = &pieces[from + index];
      here[index] = (struct iovec){piece->into, piece->size};
      there[index] = (struct iovec){(void *)piece->address, piece->size};  // NOLINT(performance-no-int-to-ptr)
      wanted += (ssize_t)piece->size;
    }
    if (process_vm_readv(pid, here, (unsigned long)many, there, (unsigned long)many, 0) != wanted) return false;
  }
  return true;
}
