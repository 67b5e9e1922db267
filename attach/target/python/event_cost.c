// Measures the cost of an event in this interpreter on this machine: two small functions run with and without events.
//
// Done once per interpreter, before a capture records anything; takes some 0.2 ms with the GIL held. The shortest of
// several rounds counts. So the cost contains only the instruction that raises the event, the path to the callback, the
// callback, and its record. It does not contain cache misses of a real job (a page of a ring, the code of a callback),
// the second record of a generator's event, or waiting for a lock. It is the minimal cost of an event.
//
// A signal handler of the job may run meanwhile, as in all Python code, and raise: its exception is passed on to the
// main thread through the queue of pending calls.
#include "attach/target/python/event_cost.h"

#include "attach/target/python/ring.h"

enum { PP_CALLS = 64, PP_ROUNDS = 9 };

static const char kLoop[] = "lambda function: any(map(function, range(64)))";  // PP_CALLS

static struct { pp_object *type, *value, *traceback; } handed_on;

static int raise_handed_on(void* unused) {
  (void)unused;
  PP_FUNCTION(void (*)(pp_object*, pp_object*, pp_object*), PyErr_Restore)
  (handed_on.type, handed_on.value, handed_on.traceback);
  handed_on.type = handed_on.value = handed_on.traceback = 0;
  return -1;
}

static int is_exception(const pp_object* type, uint64_t where) { return where && type == *(pp_object**)where; }

// Whether a text of ours was running, or no code of ours at all: an audit hook of the job may refuse what we do.
static int is_in_text(pp_object* traceback) {
  static const char* const kPath[] = {"tb_frame", "f_code", "co_filename", "__eq__"};
  pp_object* found = traceback ? py_attribute(traceback, kPath[0]) : 0;
  for (unsigned i = 1; found && i < sizeof(kPath) / sizeof(kPath[0]); ++i) {
    pp_object* next = py_attribute(found, kPath[i]);
    py_release(found);
    found = next;
  }
  pp_object* equal =
      found ? PP_FUNCTION(pp_object * (*)(pp_object*, const char*, ...), PyObject_CallFunction)(found, "s", "<string>")
            : 0;
  const int result = equal ? PP_FUNCTION(long (*)(pp_object*), PyLong_AsLong)(equal) == 1 : 0;
  py_release(equal);
  py_release(found);
  py_forget_error();
  return result;
}

static void hand_on(void) {
  pp_object *type = 0, *value = 0, *traceback = 0;
  PP_FUNCTION(void (*)(pp_object**, pp_object**, pp_object**), PyErr_Fetch)(&type, &value, &traceback);
  const int is_ours = !is_in_text(traceback) ||
                      is_exception(type, pp_boot_block.functions[PP_FN_PyExc_RecursionError]) ||
                      is_exception(type, pp_boot_block.functions[PP_FN_PyExc_MemoryError]);
  const int is_main = (int32_t)pp_system_call(PP_SYS_gettid, 0, 0, 0, 0, 0, 0) == pp_boot_block.target_pid;
  if (type && !is_ours && is_main && !handed_on.type && PP_HAS_FUNCTION(Py_AddPendingCall)) {
    handed_on.type = type;
    handed_on.value = value;
    handed_on.traceback = traceback;
    if (PP_FUNCTION(int (*)(int (*)(void*), void*), Py_AddPendingCall)(&raise_handed_on, 0) == 0) return;
    handed_on.type = handed_on.value = handed_on.traceback = 0;
  }
  py_release(type);
  py_release(value);
  py_release(traceback);
}

static pp_object* evaluate(const char* text) {
  pp_object* builtins = PP_FUNCTION(pp_object * (*)(const char*), PyImport_AddModule)("builtins");
  pp_object* eval = builtins ? py_attribute(builtins, "eval") : 0;
  pp_object* result =
      eval ? PP_FUNCTION(pp_object * (*)(pp_object*, const char*, ...), PyObject_CallFunction)(eval, "s{}", text) : 0;
  py_release(eval);
  if (!result) hand_on();
  return result;
}

// The shortest time of a round; 0: a round failed.
static uint64_t shortest(pp_object* loop, pp_object* function, pp_ring* ring) {
  uint64_t least = 0;
  for (unsigned i = 0; i < PP_ROUNDS; ++i) {
    pp_empty_ring(ring);
    const uint64_t begin = pp_now();
    pp_object* result =
        PP_FUNCTION(pp_object * (*)(pp_object*, const char*, ...), PyObject_CallFunction)(loop, "O", function);
    const uint64_t time = pp_now() - begin;
    if (!result) {
      hand_on();
      return 0;
    }
    py_release(result);
    if (!least || time < least) least = time;
  }
  return least;
}

static uint64_t more_time(pp_object* loop, pp_object* function, pp_ring* ring, pp_report_code report) {
  pp_object* code = py_attribute(function, "__code__");
  if (!code) {
    py_forget_error();
    return 0;
  }
  const uint64_t unreported = shortest(loop, function, ring);
  uint64_t reported = 0;
  if (unreported && report(code, 1)) reported = shortest(loop, function, ring);
  (void)report(code, 0);
  py_release(code);
  return reported > unreported && unreported ? reported - unreported : 0;
}

pp_cost pp_measure(const char* function, unsigned events_of_a_call, pp_report_code report) {
  pp_cost cost = {0, 0};
  if (handed_on.type) return cost;  // one at a time
  pp_slot* slot = pp_find_slot(py_thread_state());
  pp_object* loop = slot ? evaluate(kLoop) : 0;
  pp_object* called = loop ? evaluate(function) : 0;
  if (called) {
    // No other code reports events yet, and the collector does not know this page before the channel is ready.
    __atomic_store_n(&pp_self.private_page->armed, 1, __ATOMIC_RELAXED);
    cost.time = more_time(loop, called, slot->ring, report);
    __atomic_store_n(&pp_self.private_page->armed, 0, __ATOMIC_RELAXED);
    pp_empty_ring(slot->ring);
    slot->root = slot->top = 0;  // no stack was recorded
  }
  if (cost.time) cost.events = (uint64_t)PP_CALLS * events_of_a_call;
  py_release(called);
  py_release(loop);
  return cost;
}
