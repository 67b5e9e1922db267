#include "tests/doubles/cuda/cupti_calls.h"

#include "tests/doubles/cuda/cupti_state.h"
#include "tests/doubles/cuda/options.h"

struct callback_data {
  uint32_t site;  // 0 enter, 1 exit
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* correlation_data;
  uint32_t correlation;
};

// With the lock held. IDs are assigned while a kind of call, a list of calls or a callback needs them.
static int correlates(void) {
  uint64_t any = cupti.kinds[kRuntime] || cupti.kinds[kDriver];
  for (int domain = kDriverApi; domain <= kRuntimeApi; domain++) {
    for (int word = 0; word < kCallbacks / 64; word++) {
      any |= cupti.callbacks[domain][word] | cupti.recorded[domain][word];
    }
  }
  return any != 0;
}

// The driver calls that the runtime's calls make.
static const uint32_t kNested[][2] = {{211, 307}, {505, 307}, {430, 652}, {311, 514}, {315, 539}, {319, 497}};

static uint32_t nested_in(const struct double_call* call) {
  int asked = call->domain == kRuntimeApi && double_option("nested_driver", 0) != 0;
  for (unsigned row = 0; asked && row < sizeof kNested / sizeof *kNested; row++) {
    if (kNested[row][0] == call->cbid) return kNested[row][1];
  }
  return 0;
}

// The same correlation, and slightly shorter.
static struct double_call inner_of(const struct double_call* call) {
  struct double_call inner = *call;
  inner.domain = kDriverApi;
  inner.cbid = nested_in(call);
  inner.start++;
  inner.end--;
  return inner;
}

static void call_back(struct double_call* call, uint32_t site) {
  pthread_mutex_lock(&cupti.lock);
  callback_function callback = cupti.callback;
  void* user = cupti.user;
  int wanted = cupti.driver && callback && bit_of(cupti.callbacks[call->domain], call->cbid);
  pthread_mutex_unlock(&cupti.lock);
  if (!wanted || (site && double_option("no_exit", 0))) return;
  struct callback_data data = {.site = site,
                               .function = call->function,
                               .parameters = call->parameters,
                               .result = site ? &call->result : NULL,
                               .symbol = call->symbol,
                               .context = (void*)&cupti,
                               .context_id = 1,
                               .correlation_data = call->correlation_data,
                               .correlation = call->correlation};
  cupti_in_exit += site;
  callback(user, call->domain, call->cbid, &data);
  cupti_in_exit -= site;
}

static void enter(struct double_call* call) {
  pthread_mutex_lock(&cupti.lock);
  if (cupti.driver && correlates()) {
    if (++cupti.correlation == 0) cupti.correlation = 1;  // 0 means none
    call->correlation = cupti.correlation;
  }
  pthread_mutex_unlock(&cupti.lock);
  call_back(call, 0);
  struct double_call inner = inner_of(call);
  if (inner.cbid) call_back(&inner, 0);
}

static void submitted(const struct double_call* call, const struct double_op* op) {
  pthread_mutex_lock(&cupti.lock);
  if (cupti.driver) records_op(call, op);
  pthread_mutex_unlock(&cupti.lock);
}

static void record(const struct double_call* call) {
  if (cupti.driver) records_call(call);
}

static void leave(struct double_call* call) {
  struct double_call inner = inner_of(call);
  pthread_mutex_lock(&cupti.lock);
  int64_t loads = double_option("load_every", 0);
  if (cupti.driver && loads && call->correlation % loads == 1) records_load(call);
  if (inner.cbid) record(&inner);
  record(call);
  pthread_mutex_unlock(&cupti.lock);
  if (inner.cbid) call_back(&inner, 1);
  cupti_maybe_give_up();
  call_back(call, 1);  // must be last: the client may finalize in it
}

static void stream_created(uint32_t stream, uint32_t device) {
  pthread_mutex_lock(&cupti.lock);
  if (cupti.driver) records_stream(stream, device);
  pthread_mutex_unlock(&cupti.lock);
}

const struct double_tracer calls_tracer = {enter, submitted, leave, stream_created};
