// The double of a job's library that contains NVTX, which is all in headers. At its first call it binds itself, for
// good, to the library that NVTX_INJECTION64_PATH then names. Without one its calls never do anything. Built twice,
// because each library binds itself separately.
#include "tests/doubles/cuda/nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/doubles/cuda/seam.h"

static struct double_nvtx bound;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void* export_table(uint32_t which) { return which == kNvtxCallbacks ? &bound : NULL; }

static void bind(void) {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* tool = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
  int (*initialise)(nvtx_export_table) = NULL;
  if (tool) *(void**)&initialise = dlsym(tool, "InitializeInjectionNvtx2");
  if (initialise) initialise(export_table);
}

DOUBLE_EXPORT void double_nvtx_push(const char* domain, const char* name) {
  pthread_once(&once, bind);
  if (bound.push) bound.push(domain, name);
}

DOUBLE_EXPORT void double_nvtx_pop(void) {
  pthread_once(&once, bind);
  if (bound.pop) bound.pop();
}

DOUBLE_EXPORT uint64_t double_nvtx_start(const char* domain, const char* name) {
  pthread_once(&once, bind);
  return bound.start ? bound.start(domain, name) : 0;
}

DOUBLE_EXPORT void double_nvtx_end(uint64_t range) {
  pthread_once(&once, bind);
  if (bound.end) bound.end(range);
}

DOUBLE_EXPORT void double_nvtx_mark(const char* domain, const char* name) {
  pthread_once(&once, bind);
  if (bound.mark) bound.mark(domain, name);
}
