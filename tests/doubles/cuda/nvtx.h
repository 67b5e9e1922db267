// How the double of a library with NVTX is bound to the tool. As with the real NVTX, the tool fills in functions of a
// table that the library has. The numbers and structures are the double's own.
#ifndef TESTS_DOUBLES_CUDA_NVTX_H
#define TESTS_DOUBLES_CUDA_NVTX_H

#include <stdint.h>

// `domain`: NULL for the default one. `push` and `pop` apply to the calling thread; `end` may be on any thread.
struct double_nvtx {
  void (*push)(const char* domain, const char* name);
  void (*pop)(void);
  uint64_t (*start)(const char* domain, const char* name);
  void (*end)(uint64_t range);
  void (*mark)(const char* domain, const char* name);
};

enum { kNvtxCallbacks = 1 };  // passed to InitializeInjectionNvtx2's argument, which returns a double_nvtx to fill in
typedef void* (*nvtx_export_table)(uint32_t which);

#endif
