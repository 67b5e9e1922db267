// Subscribing to callbacks, and finalizing: the part of the double of libcupti that has a single client.
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/doubles/cuda/clocks.h"
#include "tests/doubles/cuda/cupti_calls.h"
#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"

enum { kSilentWithoutDriver = 130300, kFinalizesWithGraphs = 24 };

struct cupti_state cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};
__thread int cupti_in_request, cupti_in_complete, cupti_in_exit;

struct subscriber_parameters {
  size_t size;
  const char* name;
  char* old_name;
  size_t old_size;
  uint8_t several;  // from 13.3 on; not imitated
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct double_driver* found;
static int too_old;

static void find_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  int32_t (*table)(const void**, const void*) = NULL;
  if (library) *(void**)&table = dlsym(library, "cuGetExportTable");
  const void* seam = NULL;
  if (!table || table(&seam, DOUBLE_SEAM) != 0) return;
  found = seam;
  int least = personality_version < 19 ? 11000 : personality_version < kOfCuda13 ? 12000 : 13000;
  too_old = double_option("driver", 13000) < least;
}

static pid_t home;

__attribute__((constructor)) static void remember_home(void) { home = getpid(); }

static void note_caller(void) {
  if (getpid() != home) __atomic_fetch_add(&cupti.misuse.calls_in_child, 1, __ATOMIC_RELAXED);
}

int32_t cupti_attach(void) {
  note_caller();
  if (cupti_in_request) __atomic_fetch_add(&cupti.misuse.calls_in_request, 1, __ATOMIC_RELAXED);
  pthread_once(&once, find_driver);
  if (!found) return personality_no_driver();
  if (too_old) return kNotInitialised;
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.driver) {
    uint64_t slow = (uint64_t)double_option("slow_attach_ms", 0);
    if (slow) sleep_until(monotonic_now() + slow * 1000000);
    cupti.driver = found;
    if (!cupti.correlation) cupti.correlation = (uint32_t)double_option("correlation", 0);
    found->trace(&calls_tracer);
  }
  pthread_mutex_unlock(&cupti.lock);
  return kOk;
}

int32_t cupti_speaks(void) {
  note_caller();
  if (personality_version < kSilentWithoutDriver) return kOk;
  pthread_once(&once, find_driver);
  return found ? kOk : kUnknown;
}

static int wrong(uintptr_t subscriber) { return !cupti.subscribed || subscriber != (uintptr_t)&cupti; }

// In the words of 13.0.
static void report_owner(const struct subscriber_parameters* parameters, const char* owner) {
  if (parameters && parameters->old_name && parameters->old_size) {
    snprintf(parameters->old_name, parameters->old_size, "CUPTI for %s", *owner ? owner : "<not provided>");
  }
}

static void enter(callback_function callback, void* user, const char* name) {
  cupti.subscribed = 1;
  cupti.sessions++;
  cupti.callback = callback;
  cupti.user = user;
  memset(cupti.name, 0, sizeof cupti.name);
  if (name) strncpy(cupti.name, name, sizeof cupti.name - 1);
}

static int32_t subscribe(uintptr_t* subscriber, callback_function callback, void* user,
                         const struct subscriber_parameters* parameters) {
  if (!subscriber) return kInvalidParameter;
  int32_t refused = cupti_attach();
  if (!refused) refused = (int32_t)double_option("subscribe_result", 0);
  if (refused) return refused;
  pthread_mutex_lock(&cupti.lock);
  const char* owner = cupti.subscribed ? cupti.name : double_option("foreign", 0) ? "another profiler" : NULL;
  if (owner) {
    report_owner(parameters, owner);
  } else {
    enter(callback, user, parameters ? parameters->name : NULL);
    *subscriber = (uintptr_t)&cupti;
  }
  pthread_mutex_unlock(&cupti.lock);
  return owner ? kMultipleSubscribers : kOk;
}

DOUBLE_EXPORT int32_t cuptiSubscribe(uintptr_t* subscriber, callback_function callback, void* user) {
  return subscribe(subscriber, callback, user, NULL);
}

DOUBLE_EXPORT int32_t cuptiSubscribe_v2(uintptr_t* subscriber, callback_function callback, void* user,
                                        const struct subscriber_parameters* parameters) {
  size_t least = personality_version >= 130300 ? 40 : 32;
  if (parameters && parameters->size != least) return kInvalidParameter;
  return subscribe(subscriber, callback, user, parameters);
}

DOUBLE_EXPORT int32_t cuptiUnsubscribe(uintptr_t subscriber) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  int bad = wrong(subscriber);
  if (!bad) {
    memset(cupti.callbacks, 0, sizeof cupti.callbacks);
    cupti.subscribed = 0;
    cupti.callback = NULL;
  }
  pthread_mutex_unlock(&cupti.lock);
  return bad ? kInvalidParameter : kOk;
}

DOUBLE_EXPORT int32_t cuptiEnableCallback(uint32_t enable, uintptr_t subscriber, uint32_t domain, uint32_t callback) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  int bad = wrong(subscriber) || !domain || domain >= kDomains || callback >= calls_of(domain);
  if (!bad) {
    uint64_t bit = (uint64_t)1 << (callback % 64), *word = &cupti.callbacks[domain][callback / 64];
    *word = enable ? *word | bit : *word & ~bit;
  }
  pthread_mutex_unlock(&cupti.lock);
  return bad ? kInvalidParameter : kOk;
}

DOUBLE_EXPORT int32_t cuptiEnableDomain(uint32_t enable, uintptr_t subscriber, uint32_t domain) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  int bad = wrong(subscriber) || !domain || domain >= kDomains;
  if (!bad) memset(cupti.callbacks[domain], enable ? 0xff : 0, sizeof cupti.callbacks[domain]);
  pthread_mutex_unlock(&cupti.lock);
  return bad ? kInvalidParameter : kOk;
}

// Called with the lock held; returns without it. `asked`: the client asked, and should have taken everything before.
static void shut_down(int asked) {
  const struct double_driver* driver = cupti.driver;
  struct cupti_misuse misuse = cupti.misuse;
  driver->trace(NULL);
  pthread_mutex_unlock(&cupti.lock);
  if (asked) driver->context_syncs(1);
  buffers_stop();  // not with the lock, which the worker may need to end
  pthread_mutex_lock(&cupti.lock);
  if (asked) misuse = cupti.misuse;
  uint32_t correlation = cupti.correlation;  // goes on, so that the truth has each ID once
  size_t first = offsetof(struct cupti_state, driver);
  memset((char*)&cupti + first, 0, sizeof cupti - first);
  cupti.misuse = misuse;
  cupti.correlation = correlation;
  pthread_mutex_unlock(&cupti.lock);
}

static atomic_int asked_for_trouble;

DOUBLE_EXPORT void double_trouble(void) { asked_for_trouble = 1; }

int cupti_fault_is_due(int64_t after, uint64_t seen) {
  return after >= 0 && seen >= (uint64_t)after && (asked_for_trouble || !double_option("on_word", 0));
}

void cupti_maybe_give_up(void) {
  int64_t after = double_option("fatal_after", -1);
  static atomic_flag over = ATOMIC_FLAG_INIT;
  if (after < 0) return;
  pthread_mutex_lock(&cupti.lock);
  int due = cupti.driver && cupti_fault_is_due(after, cupti.gpu_records) && !atomic_flag_test_and_set(&over);
  uint32_t result = (uint32_t)double_option("fatal_result", kUnknown);
  callback_function callback = bit_of(cupti.callbacks[kStateDomain], kFatalError) ? cupti.callback : NULL;
  void* user = cupti.user;
  pthread_mutex_unlock(&cupti.lock);
  if (!due) return;
  if (callback) callback(user, kStateDomain, kFatalError, &result);
  pthread_mutex_lock(&cupti.lock);
  if (cupti.driver) {
    shut_down(0);
  } else {
    pthread_mutex_unlock(&cupti.lock);
  }
}

DOUBLE_EXPORT int32_t cuptiFinalize(void) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.driver) {
    pthread_mutex_unlock(&cupti.lock);
    return kOk;
  }
  if (personality_version < kFinalizesWithGraphs && cupti.graphs) {
    fputs("double of libcupti: finalized after graphs were launched, which this version does not survive\n", stderr);
    raise(SIGSEGV);
  }
  if (!cupti_in_exit) cupti.misuse.finalized_outside_exit++;
  if (cupti.driver->capturing(0)) cupti.misuse.finalized_in_capture++;
  shut_down(1);
  return kOk;
}

DOUBLE_EXPORT void double_cupti_misuse(struct cupti_misuse* out) {
  pthread_mutex_lock(&cupti.lock);
  *out = cupti.misuse;
  pthread_mutex_unlock(&cupti.lock);
}
