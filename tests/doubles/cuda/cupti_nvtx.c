// What the double of libcupti makes of NVTX calls: two records for a range, joined by its number, and one for a mark.
// Numbers are assigned whether anything is recorded or not, so a range's end may be recorded without its begin.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/nvtx.h"

enum { kMark = 1, kStart = 2, kEnd = 4, kDeep = 256 };

struct text {
  struct text* next;
  char text[];
};

static uint32_t last_number;
static __thread uint32_t pushed[kDeep], depth;

// A copy, because callers may free their text. With the lock held.
static const char* kept(const char* text) {
  static struct text* all;
  if (!text) return NULL;
  for (struct text* one = all; one; one = one->next) {
    if (strcmp(one->text, text) == 0) return one->text;
  }
  struct text* added = malloc(sizeof *added + strlen(text) + 1);
  strcpy(added->text, text);
  added->next = all;
  all = added;
  return added->text;
}

static void report(uint32_t flags, uint32_t number, const char* domain, const char* name) {
  pthread_mutex_lock(&cupti.lock);
  if (cupti.driver && cupti.kinds[kMarker]) {
    records_marker(&(struct marker){flags, number, monotonic_now(), kept(name), kept(domain)});
  }
  pthread_mutex_unlock(&cupti.lock);
}

static uint32_t next_number(void) { return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED); }

static void push(const char* domain, const char* name) {
  uint32_t number = next_number();
  if (depth < kDeep) pushed[depth] = number;
  depth++;
  report(kStart, number, domain, name);
}

static void pop(void) {
  if (!depth) return;
  depth--;
  if (depth < kDeep) report(kEnd, pushed[depth], NULL, NULL);
}

static uint64_t start(const char* domain, const char* name) {
  uint32_t number = next_number();
  report(kStart, number, domain, name);
  return number;
}

static void end(uint64_t range) {
  if (range) report(kEnd, (uint32_t)range, NULL, NULL);
}

static void mark(const char* domain, const char* name) { report(kMark, next_number(), domain, name); }

DOUBLE_EXPORT int InitializeInjectionNvtx2(nvtx_export_table table) {
  struct double_nvtx* library = table ? (struct double_nvtx*)table(kNvtxCallbacks) : NULL;
  if (!library) return 0;
  *library = (struct double_nvtx){push, pop, start, end, mark};
  return 1;
}
