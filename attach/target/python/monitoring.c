// 3.12 and later: callbacks of sys.monitoring (PEP 669) on a tool id of our own.
//
// The callbacks are built-in functions over static PyMethodDefs. They are made once per interpreter and then kept,
// because they may be running while they are removed. On a free-threaded build set_events stops the world, so that
// after it no thread is inside a callback that began before `private_page` was cleared.
#include "attach/target/python/call_event.h"
#include "attach/target/python/event_cost.h"

enum { PP_ARGUMENT_CODE = 0, PP_ARGUMENT_CALLABLE = 2 };

static pp_object* none(void) { return PP_OBJECT(_Py_NoneStruct); }  // immortal since 3.12

// The result of a callback for code with a mute entry; null: record the event as usual.
static PP_COLD pp_object* answer_muted(const pp_mute* mute, pp_address code, unsigned tag);

// The tag of the missing begin event of the innermost frame; 0: its begin was recorded.
static PP_COLD unsigned unreported_begin(pp_address thread);
static PP_COLD void note_throw(pp_address thread);

static __attribute__((noinline)) pp_object* report_frame(pp_address thread, unsigned tag, pp_address code) {
  if (pp_unlikely(!pp_is_recording(thread, tag))) return none();
  const pp_mute* mute = pp_find_mute(code);
  pp_object* answer = pp_unlikely(mute != 0) ? answer_muted(mute, code, tag) : 0;
  if (pp_unlikely(answer != 0)) return answer;
  if (tag == PP_TAG_THROW) note_throw(thread);
  if (tag == PP_TAG_UNWIND) {
    const unsigned begin = unreported_begin(thread);
    if (pp_unlikely(begin != 0)) pp_frame_event(thread, begin, code);
  }
  pp_frame_event(thread, tag, code);
  return none();
}

#define PP_FRAME_CALLBACK(name, tag)                                                             \
  static pp_object* name(pp_object* self, pp_object* const* arguments, intptr_t count) {         \
    (void)self;                                                                                  \
    (void)count;                                                                                 \
    const pp_address thread = py_thread_state(), code = (pp_address)arguments[PP_ARGUMENT_CODE]; \
    const int is_plain = tag == PP_TAG_START || tag == PP_TAG_RETURN;                            \
    if (is_plain && pp_likely(pp_frame_quickly(thread, tag, code))) return none();               \
    return report_frame(thread, tag, code);                                                        \
  }
PP_FRAME_CALLBACK(on_start, PP_TAG_START)
PP_FRAME_CALLBACK(on_resume, PP_TAG_RESUME)
PP_FRAME_CALLBACK(on_throw, PP_TAG_THROW)
PP_FRAME_CALLBACK(on_return, PP_TAG_RETURN)
PP_FRAME_CALLBACK(on_yield, PP_TAG_YIELD)
PP_FRAME_CALLBACK(on_unwind, PP_TAG_UNWIND)

// From 3.13 on, handlers of signals, pending calls and finalizers run before a frame's begin or resume event. An
// exception that they raise there ends a frame that was not recorded. The frame is then at its RESUME, in the form that
// it has while events are on.
enum { PP_RESUME_WHERE = 3, PP_RESUME_AT_START = 0, PP_RESUME_AFTER_YIELD = 1 };

static void note_throw(pp_address thread) {
  pp_slot* slot = pp_find_slot(thread);
  if (slot) slot->thrown = py_current_frame(thread);
}

static unsigned unreported_begin(pp_address thread) {
  if (!PP_HAS_FIELD(resume_operation)) return 0;
  const pp_address frame = py_current_frame(thread);
  const unsigned instruction = *PP_FIELD(const uint16_t*, frame, frame_instruction);
  if ((instruction & 0xff) != PP_NUMBER(resume_operation)) return 0;
  const pp_slot* slot = pp_find_slot(thread);
  if (slot && slot->thrown == frame) return 0;
  const unsigned where = instruction >> 8 & PP_RESUME_WHERE;
  return where == PP_RESUME_AT_START ? PP_TAG_START : where == PP_RESUME_AFTER_YIELD ? PP_TAG_RESUME : 0;
}

// The callable that is called in the end, or 0 for a Python function: its own frame is recorded, and C_RETURN never
// comes.
static const pp_object* callee(const pp_object* callable) {
  if (py_type(callable) == PP_OBJECT(PyMethod_Type)) callable = PP_FIELD(const pp_object*, callable, method_function);
  return py_type(callable) == PP_OBJECT(PyFunction_Type) ? 0 : callable;
}

static __attribute__((noinline)) pp_object* report_call(pp_address thread, unsigned tag, const pp_object* called,
                                                      pp_address code) {
  if (pp_is_recording(thread, tag)) pp_call_event(thread, tag, called, code);
  return none();
}

#define PP_CALL_CALLBACK(name, tag)                                                         \
  static pp_object* name(pp_object* self, pp_object* const* arguments, intptr_t count) {    \
    (void)self;                                                                             \
    (void)count;                                                                            \
    const pp_address code = (pp_address)arguments[PP_ARGUMENT_CODE];                        \
    if (pp_unlikely(pp_self.mutes != 0) && pp_is_armed()) {                                 \
      const pp_mute* mute = pp_find_mute(code);                                             \
      pp_object* answer = mute ? answer_muted(mute, code, tag) : 0;                         \
      if (answer) return answer;                                                            \
    }                                                                                       \
    const pp_object* called = callee(arguments[PP_ARGUMENT_CALLABLE]);                      \
    if (!called) return none();                                                             \
    const pp_address thread = py_thread_state();                                            \
    const uint64_t method = tag == PP_TAG_C_CALL ? pp_method_of(called) : 0;                \
    if (pp_likely(pp_record_quickly(thread, tag, (uint64_t)called, method))) return none(); \
    return report_call(thread, tag, called, code);                                            \
  }
PP_CALL_CALLBACK(on_call, PP_TAG_C_CALL)
PP_CALL_CALLBACK(on_c_return, PP_TAG_C_RETURN)
PP_CALL_CALLBACK(on_c_raise, PP_TAG_C_RAISE)

enum { PP_START_EVENT = 0, PP_RETURN_EVENT = 3, PP_FRAME_EVENTS = 6, PP_CALL_EVENT = 6, PP_EVENTS = 9 };
// The names of sys.monitoring.events; the events of C calls come last.
static pp_method methods[PP_EVENTS] = {
    {"PY_START", on_start, PP_METH_FASTCALL, 0},  {"PY_RESUME", on_resume, PP_METH_FASTCALL, 0},
    {"PY_THROW", on_throw, PP_METH_FASTCALL, 0},  {"PY_RETURN", on_return, PP_METH_FASTCALL, 0},
    {"PY_YIELD", on_yield, PP_METH_FASTCALL, 0},  {"PY_UNWIND", on_unwind, PP_METH_FASTCALL, 0},
    {"CALL", on_call, PP_METH_FASTCALL, 0},       {"C_RETURN", on_c_return, PP_METH_FASTCALL, 0},
    {"C_RAISE", on_c_raise, PP_METH_FASTCALL, 0},
};

// A built-in function is called through a pointer in it to the function for its calling convention, which checks its
// flags and counts the depth of C calls. Our callbacks point to themselves instead: the values that they read are in
// the same places in both conventions.
enum { PP_VECTORCALL_BEHIND_METHOD = 32 };  // in a PyCFunctionObject: m_ml, m_self, m_module, m_weakreflist, vectorcall
static void call_directly(pp_object* callback, pp_fast_function function) {
  if (!callback || !PP_HAS_FUNCTION(PyVectorcall_Function)) return;
  uint64_t* way = &PP_FIELD(uint64_t, callback, method_def) + PP_VECTORCALL_BEHIND_METHOD / sizeof(uint64_t);
  if (*way == (uint64_t)PP_FUNCTION(void* (*)(pp_object*), PyVectorcall_Function)(callback)) *way = (uint64_t)function;
}

// The functions of sys.monitoring that we call.
enum {
  PP_USE_TOOL_ID,
  PP_FREE_TOOL_ID,
  PP_GET_TOOL,
  PP_REGISTER_CALLBACK,
  PP_SET_EVENTS,
  PP_SET_LOCAL_EVENTS,
  PP_RESTART_EVENTS,
  PP_API_FUNCTIONS
};
static const char* const kApiNames[PP_API_FUNCTIONS] = {
    "use_tool_id", "free_tool_id", "get_tool", "register_callback", "set_events", "set_local_events", "restart_events"};

// Kept between captures, for one interpreter.
static struct {
  pp_address interpreter;
  pp_object* api[PP_API_FUNCTIONS];
  pp_object* callbacks[PP_EVENTS];
  long masks[PP_EVENTS];
  pp_object* disable;         // immortal, like None
  uint64_t has_switched_off;  // a callback returned `disable` since events were last restarted
  uint64_t measured_way;      // the mode in which the costs were measured
  pp_cost frame_cost, call_cost;
  pp_object* tool_name;  // of this capture: the result of get_tool while the id is ours
} kept;

static const char kToolName[] = "ptrace-prof";
static const int kToolIds[] = {3, 4};  // 0, 1, 2 and 5 are for debuggers, coverage, profilers and optimizers

#define py_call(function, ...) \
  PP_FUNCTION(pp_object* (*)(pp_object*, const char*, ...), PyObject_CallFunction)(kept.api[function], __VA_ARGS__)

// Drops the result of a call. Returns whether it succeeded.
static int succeeded(pp_object* result) {
  if (!result) py_forget_error();
  py_release(result);
  return result != 0;
}

// UNWIND, THROW and the ends of C calls cannot be switched off at one place: they keep coming and are left out here.
static pp_object* answer_muted(const pp_mute* mute, pp_address code, unsigned tag) {
  const unsigned can_be_switched_off =
      1u << PP_TAG_START | 1u << PP_TAG_RESUME | 1u << PP_TAG_RETURN | 1u << PP_TAG_YIELD | 1u << PP_TAG_C_CALL;
  if (!pp_is_muted(mute, code, tag)) return 0;
  if (pp_now() > __atomic_load_n(&pp_self.channel->lease, __ATOMIC_RELAXED)) {
    pp_leave_as_told();  // no other event may come for long
    return none();
  }
  if (!(can_be_switched_off >> tag & 1)) return none();
  kept.has_switched_off = 1;
  return kept.disable;
}

// Events that were switched off stay off in code that does not run until another tool has our tool id: measured on all
// versions from 3.12 on, after set_events(0) and free_tool_id. Only restart_events undoes this. It also restores events
// that other tools had switched off: they get one more event at each place.
static int restart_events(void) {
  if (!kept.has_switched_off) return 1;
  if (!succeeded(py_call(PP_RESTART_EVENTS, (const char*)0))) return 0;
  kept.has_switched_off = 0;
  return 1;
}

static unsigned event_count(void) { return pp_self.c_calls ? PP_EVENTS : PP_FRAME_EVENTS; }

// Takes the first of our ids that is free.
static int take_tool_id(void) {
  for (unsigned i = 0; i < sizeof(kToolIds) / sizeof(kToolIds[0]); ++i) {
    pp_object* holder = py_call(PP_GET_TOOL, "i", kToolIds[i]);
    if (!succeeded(holder) || holder != none()) continue;
    if (!succeeded(py_call(PP_USE_TOOL_ID, "is", kToolIds[i], kToolName))) continue;
    pp_self.tool_id = (uint32_t)kToolIds[i];
    kept.tool_name = py_call(PP_GET_TOOL, "i", kToolIds[i]);
    if (!kept.tool_name) py_forget_error();
    return 1;
  }
  return 0;
}

static int make_callback(pp_object* events, unsigned i) {
  pp_object* mask = py_attribute(events, methods[i].name);
  kept.masks[i] = mask ? PP_FUNCTION(long (*)(pp_object*), PyLong_AsLong)(mask) : 0;
  py_release(mask);
  kept.callbacks[i] =
      PP_FUNCTION(pp_object * (*)(pp_method*, pp_object*, pp_object*), PyCFunction_NewEx)(&methods[i], 0, 0);
  call_directly(kept.callbacks[i], methods[i].function);
  return kept.masks[i] > 0 && kept.callbacks[i];
}

static int find_api(pp_object* monitoring) {
  for (unsigned i = 0; i < PP_API_FUNCTIONS; ++i) {
    kept.api[i] = py_attribute(monitoring, kApiNames[i]);
    if (!kept.api[i]) return 0;
  }
  return 1;
}

static enum pp_step make_callbacks(pp_object* monitoring) {
  pp_object* events = py_attribute(monitoring, "events");
  kept.disable = py_attribute(monitoring, "DISABLE");
  int good = events != 0 && kept.disable != 0;
  for (unsigned i = 0; good && i < PP_EVENTS; ++i) good = make_callback(events, i);
  py_release(events);
  return good ? PP_STEP_NONE : PP_STEP_CALLBACK;
}

// Makes what stays resident, at the first capture.
static enum pp_step prepare(void) {
  const pp_address interpreter = PP_FIELD(pp_address, py_thread_state(), thread_interp);
  if (kept.interpreter == interpreter) return PP_STEP_NONE;
  kept.interpreter = 0;
  pp_object* sys = PP_FUNCTION(pp_object * (*)(const char*), PyImport_AddModule)("sys");
  pp_object* monitoring = sys ? py_attribute(sys, "monitoring") : 0;
  enum pp_step step = monitoring && find_api(monitoring) ? make_callbacks(monitoring) : PP_STEP_MONITORING;
  py_release(monitoring);
  if (step == PP_STEP_NONE) {
    kept.interpreter = interpreter;
  } else {
    py_forget_error();
  }
  return step;
}

static int register_callbacks(unsigned count) {
  int all = 1;
  for (unsigned i = 0; i < PP_EVENTS; ++i) {
    pp_object* callback = i < count ? kept.callbacks[i] : none();
    all &= succeeded(py_call(PP_REGISTER_CALLBACK, "ilO", (int)pp_self.tool_id, kept.masks[i], callback));
  }
  return all;
}

static void give_back(void) {
  register_callbacks(0);
  (void)succeeded(py_call(PP_SET_EVENTS, "ii", (int)pp_self.tool_id, 0));
  (void)restart_events();
  (void)succeeded(py_call(PP_FREE_TOOL_ID, "i", (int)pp_self.tool_id));
  py_release(kept.tool_name);
  kept.tool_name = 0;
  pp_self.tool_id = UINT32_MAX;
}

static int report_frames(pp_object* code, int is_reported) {
  const long events = is_reported ? kept.masks[PP_START_EVENT] | kept.masks[PP_RETURN_EVENT] : 0;
  return succeeded(py_call(PP_SET_LOCAL_EVENTS, "iOl", (int)pp_self.tool_id, code, events));
}

static int report_calls(pp_object* code, int is_reported) {
  const long events = is_reported ? kept.masks[PP_CALL_EVENT] : 0;  // the events of its end come with it
  return succeeded(py_call(PP_SET_LOCAL_EVENTS, "iOl", (int)pp_self.tool_id, code, events));
}

static void measure_costs(void) {
  const uint64_t way = pp_self.clock << 1 | (pp_self.follows != 0);
  if (kept.measured_way != way) kept.frame_cost.events = kept.call_cost.events = 0;
  kept.measured_way = way;
  if (!kept.frame_cost.events) kept.frame_cost = pp_measure("lambda _: None", 2, &report_frames);
  if (pp_self.c_calls && !kept.call_cost.events) {
    kept.call_cost = pp_measure("lambda _: len(()) and None", 2, &report_calls);
  }
  pp_self.channel->frame_cost = kept.frame_cost;
  if (pp_self.c_calls) pp_self.channel->call_cost = kept.call_cost;
}

static enum pp_step switch_on(void) {
  if (!restart_events()) return PP_STEP_RESTART;  // it failed at the end of the previous capture
  if (!register_callbacks(event_count())) return PP_STEP_REGISTER;
  pp_watch_code();
  measure_costs();
  long events = 0;
  for (unsigned i = 0; i < event_count(); ++i) events |= kept.masks[i];
  return succeeded(py_call(PP_SET_EVENTS, "il", (int)pp_self.tool_id, events)) ? PP_STEP_NONE : PP_STEP_SET_EVENTS;
}

static pp_error_report install(void) {
  pp_error_report report = {PP_ERROR_PYTHON_CALL, prepare(), 0};
  if (report.step != PP_STEP_NONE) return report;
  if (!take_tool_id()) return (pp_error_report){PP_ERROR_PROFILER_PRESENT, PP_STEP_TOOL_ID, 0};
  report.step = switch_on();
  if (report.step == PP_STEP_NONE) {
    report.error = PP_ERROR_NONE;
  } else {
    give_back();
    pp_unwatch_code();
  }
  return report;
}

// If the job has taken our tool id from us, it keeps it.
static void remove_hooks(void) {
  pp_object* holder = py_call(PP_GET_TOOL, "i", (int)pp_self.tool_id);
  if (succeeded(holder) && holder == kept.tool_name) {
    give_back();
  } else if (py_is_free_threaded()) {
    kept.has_switched_off = 1;  // restarting events stops the world, too
  }
  pp_unwatch_code();
  (void)restart_events();
}

const pp_hooks pp_monitoring_hooks = {install, remove_hooks};
