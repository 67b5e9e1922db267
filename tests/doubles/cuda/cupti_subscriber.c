// Subscribing to callbacks, and finalizing: the part of the double of libcupti of which there is one client.
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
  uint8_t several;  // from 13.3 on
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
    if (!cupti.correlation) {
      cupti.correlation = (uint32_t)double_option("correlation", 0);
      cupti.wraps = (uint64_t)double_option("correlation_high", 0);
    }
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

struct cupti_client* client_of(uintptr_t subscriber) {
  for (struct cupti_client* one = cupti.clients; one < cupti.clients + kClients; one++) {
    if (subscriber == (uintptr_t)one && one->subscribed) return one;
  }
  return NULL;
}

int any_kind(uint32_t kind) {
  int any = 0;
  for (int i = 0; i < kClients; i++) any |= cupti.clients[i].kinds[kind];
  return any;
}

// The first that is there; NULL: nobody is.
static const struct cupti_client* first_client(void) {
  const struct cupti_client* first = NULL;
  for (const struct cupti_client* one = cupti.clients; one < cupti.clients + kClients; one++) {
    if (one->subscribed && (!first || one->session < first->session)) first = one;
  }
  return first;
}

// Where another one has its place; NULL: there is none. One client of the second generation does not make a process one
// of the first, nor the other way round.
static struct cupti_client* free_client(int several) {
  int may_share = several && cupti.generation != 1 && double_option("driver", 13000) >= kDriverOfSecond;
  if (several && !may_share) return NULL;
  if (first_client() && !(may_share && cupti.allows_several)) return NULL;
  for (struct cupti_client* one = cupti.clients; one < cupti.clients + (several ? kClients : 1); one++) {
    if (!one->subscribed) return one;
  }
  return NULL;
}

// As 13.0 words it.
static void tell_owner(const struct subscriber_parameters* parameters, const char* owner) {
  if (parameters && parameters->old_name && parameters->old_size) {
    snprintf(parameters->old_name, parameters->old_size, "CUPTI for %s", *owner ? owner : "<not provided>");
  }
}

static void enter(struct cupti_client* client, int several, callback_function callback, void* user, const char* name) {
  if (several) {
    memset(client, 0, sizeof *client);
    cupti.generation = 2;
  }
  cupti.allows_several = several;
  client->subscribed = 1;
  client->session = ++cupti.sessions;
  client->callback = callback;
  client->user = user;
  memset(client->name, 0, sizeof client->name);
  if (name) strncpy(client->name, name, sizeof client->name - 1);
}

static int32_t subscribe(uintptr_t* subscriber, callback_function callback, void* user,
                         const struct subscriber_parameters* parameters) {
  if (!subscriber) return kInvalidParameter;
  int32_t refused = cupti_attach();
  if (!refused) refused = (int32_t)double_option("subscribe_result", 0);
  if (refused) return refused;
  int several = personality_version >= kSecondGeneration && parameters && parameters->several;
  pthread_mutex_lock(&cupti.lock);
  const struct cupti_client* first = first_client();
  const char* owner = first ? first->name : double_option("foreign", 0) ? "another profiler" : NULL;
  struct cupti_client* client = owner && !first ? NULL : free_client(several);
  if (owner) tell_owner(parameters, owner);
  if (client) {
    enter(client, several, callback, user, parameters ? parameters->name : NULL);
    *subscriber = (uintptr_t)client;
  }
  pthread_mutex_unlock(&cupti.lock);
  return client ? kOk : kMultipleSubscribers;
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
  struct cupti_client* client = client_of(subscriber);
  if (client) {
    memset(client->callbacks, 0, sizeof client->callbacks);
    client->subscribed = 0;
    client->callback = NULL;
    if (cupti.generation == 2) {
      buffers_leave(client);
      memset(client, 0, sizeof *client);
    }
  }
  pthread_mutex_unlock(&cupti.lock);
  return client ? kOk : kInvalidParameter;
}

DOUBLE_EXPORT int32_t cuptiEnableCallback(uint32_t enable, uintptr_t subscriber, uint32_t domain, uint32_t callback) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  struct cupti_client* client = client_of(subscriber);
  int bad = !client || !domain || domain >= kDomains || callback >= calls_of(domain);
  if (!bad) {
    uint64_t bit = (uint64_t)1 << (callback % 64), *word = &client->callbacks[domain][callback / 64];
    *word = enable ? *word | bit : *word & ~bit;
  }
  pthread_mutex_unlock(&cupti.lock);
  return bad ? kInvalidParameter : kOk;
}

DOUBLE_EXPORT int32_t cuptiEnableDomain(uint32_t enable, uintptr_t subscriber, uint32_t domain) {
  if (cupti_speaks() != kOk) return kUnknown;
  pthread_mutex_lock(&cupti.lock);
  struct cupti_client* client = client_of(subscriber);
  int bad = !client || !domain || domain >= kDomains;
  if (!bad) memset(client->callbacks[domain], enable ? 0xff : 0, sizeof client->callbacks[domain]);
  pthread_mutex_unlock(&cupti.lock);
  return bad ? kInvalidParameter : kOk;
}

// With the lock held, and then not. `asked`: by the client, who should have taken everything before.
static void shut_down(int asked) {
  const struct double_driver* driver = cupti.driver;
  struct cupti_misuse misuse = cupti.misuse;
  driver->trace(NULL);
  pthread_mutex_unlock(&cupti.lock);
  if (asked) driver->context_syncs(1);
  buffers_stop();  // not with the lock: the worker may need it to end
  pthread_mutex_lock(&cupti.lock);
  if (asked) misuse = cupti.misuse;
  uint32_t correlation = cupti.correlation;  // goes on, so that the truth has each ID once
  uint64_t wraps = cupti.wraps;
  size_t first = offsetof(struct cupti_state, driver);
  memset((char*)&cupti + first, 0, sizeof cupti - first);
  cupti.misuse = misuse;
  cupti.correlation = correlation;
  cupti.wraps = wraps;
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
  struct cupti_client heard = cupti.clients[0];
  for (int i = 0; i < kClients; i++) {
    if (bit_of(cupti.clients[i].callbacks[kStateDomain], kFatalError)) heard = cupti.clients[i];
  }
  callback_function callback = bit_of(heard.callbacks[kStateDomain], kFatalError) ? heard.callback : NULL;
  pthread_mutex_unlock(&cupti.lock);
  if (!due) return;
  if (callback) callback(heard.user, kStateDomain, kFatalError, &result);
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
  int clients = 0;
  for (int i = 0; i < kClients; i++) clients += cupti.clients[i].subscribed;
  if (clients > 1) {  // the others go on
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
