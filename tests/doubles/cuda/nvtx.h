// How the double of a library with NVTX in it is bound to the tool: as by NVTX's own way, the tool fills in functions
// of a table that the library has. The numbers and structures are the double's.
#ifndef TESTS_DOUBLES_CUDA_NVTX_H
#define TESTS_DOUBLES_CUDA_NVTX_H

#include <stdint.h>

// `domain`: NULL for the default one. `push` and `pop` are of the calling thread; `end` may be on any.
struct double_nvtx {
  void (*push)(const char* domain, const char* name);
  void (*pop)(void);
  uint64_t (*start)(const char* domain, const char* name);
  void (*end)(uint64_t range);
  void (*mark)(const char* domain, const char* name);
};

enum { kNvtxCallbacks = 1 };  // what InitializeInjectionNvtx2 asks its argument for: a double_nvtx to fill in
typedef void* (*nvtx_export_table)(uint32_t which);

#endif
