#include "tests/transcripts/recorder_names.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/transcripts/recorder.h"
#include "tests/transcripts/recorder_line.h"

enum { kNames = 4096, kNameBytes = 32 };

struct name {
  _Atomic(const void*) address;
  _Atomic uint32_t number;
};

static struct name buffers[kNames], subscribers[kNames];
static atomic_uint buffer_count, subscriber_count, controls, workers;
// In the block that every thread has from its start, so no memory is allocated for it.
static __thread char own_name[kNameBytes] __attribute__((tls_model("initial-exec")));

static void report_of_thread(void) {
  struct line line;
  line_begin(&line, "thread");
  line_number(&line, "tid", (uint64_t)syscall(SYS_gettid));
  line_end(&line);
}

RECORDER_EXPORT void recorder_thread(const char* name) {
  snprintf(own_name, sizeof own_name, "%s", name);
  report_of_thread();
}

const char* thread_name(const char* event) {
  if (own_name[0]) return own_name;
  if (strcmp(event, "enter") == 0) {
    snprintf(own_name, sizeof own_name, "control#%u", atomic_fetch_add(&controls, 1) + 1);
  } else {
    snprintf(own_name, sizeof own_name, "worker#%u", atomic_fetch_add(&workers, 1) + 1);
  }
  report_of_thread();
  return own_name;
}

// The entry of an address, or a free one for it; NULL if there is no more room.
static struct name* place_of(struct name* names, const void* address) {
  for (unsigned i = 0; i < kNames; i++) {
    const void* found = atomic_load(&names[i].address);
    if (found == address) return &names[i];
    if (!found && atomic_compare_exchange_strong(&names[i].address, &found, address)) return &names[i];
    if (found == address) return &names[i];
  }
  return NULL;
}

uint32_t buffer_named(const void* address) {
  struct name* name = address ? place_of(buffers, address) : NULL;
  if (!name) return 0;
  const uint32_t number = atomic_fetch_add(&buffer_count, 1) + 1;
  atomic_store(&name->number, number);
  return number;
}

uint32_t buffer_of(const void* address) {
  for (unsigned i = 0; address && i < kNames && atomic_load(&buffers[i].address); i++) {
    if (atomic_load(&buffers[i].address) == address) return atomic_load(&buffers[i].number);
  }
  return 0;
}

uint32_t subscriber_of(const void* address) {
  struct name* name = address ? place_of(subscribers, address) : NULL;
  if (!name) return 0;
  uint32_t number = 0;
  if (atomic_load(&name->number)) return atomic_load(&name->number);
  const uint32_t next = atomic_fetch_add(&subscriber_count, 1) + 1;
  return atomic_compare_exchange_strong(&name->number, &number, next) ? next : number;
}
