// 3.12 and later: callbacks of sys.monitoring (PEP 669) on a tool id of our own.
//
// The callbacks are built-in functions over static PyMethodDefs. They are made once per interpreter and then kept: they
// may be running while they are taken off. On a free-threaded build set_events stops the world, so that after it no
// thread is inside a callback that began before `private_page` was cleared.
#include "attach/intarget/event.h"

enum { PP_ARGUMENT_CODE = 0, PP_ARGUMENT_CALLABLE = 2 };

static pp_object* none(void) { return PP_OBJECT(_Py_NoneStruct); }  // immortal since 3.12

#define PP_FRAME_CALLBACK(name, tag)                                                                        \
  static pp_object* name(pp_object* self, pp_object* const* arguments, intptr_t count) {                    \
    (void)self;                                                                                             \
    (void)count;                                                                                            \
    const pp_address thread = py_thread_state();                                                            \
    if (pp_is_recording(thread, tag)) pp_frame_event(thread, tag, (pp_address)arguments[PP_ARGUMENT_CODE]); \
    return none();                                                                                          \
  }
PP_FRAME_CALLBACK(on_start, PP_TAG_START)
PP_FRAME_CALLBACK(on_resume, PP_TAG_RESUME)
PP_FRAME_CALLBACK(on_throw, PP_TAG_THROW)
PP_FRAME_CALLBACK(on_return, PP_TAG_RETURN)
PP_FRAME_CALLBACK(on_yield, PP_TAG_YIELD)
PP_FRAME_CALLBACK(on_unwind, PP_TAG_UNWIND)

// What is called in the end, or 0 for a function in Python: its own frame tells, and C_RETURN never comes.
static const pp_object* callee(const pp_object* callable) {
  if (py_type(callable) == PP_OBJECT(PyMethod_Type)) callable = PP_FIELD(const pp_object*, callable, method_function);
  return py_type(callable) == PP_OBJECT(PyFunction_Type) ? 0 : callable;
}

#define PP_CALL_CALLBACK(name, tag)                                                      \
  static pp_object* name(pp_object* self, pp_object* const* arguments, intptr_t count) { \
    (void)self;                                                                          \
    (void)count;                                                                         \
    const pp_object* called = callee(arguments[PP_ARGUMENT_CALLABLE]);                   \
    if (!called) return none();                                                          \
    const pp_address thread = py_thread_state();                                         \
    if (pp_is_recording(thread, tag)) pp_call_event(thread, tag, called);                \
    return none();                                                                       \
  }
PP_CALL_CALLBACK(on_call, PP_TAG_C_CALL)
PP_CALL_CALLBACK(on_c_return, PP_TAG_C_RETURN)
PP_CALL_CALLBACK(on_c_raise, PP_TAG_C_RAISE)

enum { PP_FRAME_EVENTS = 6, PP_EVENTS = 9 };
// The names of sys.monitoring.events; those of C calls last.
static pp_method methods[PP_EVENTS] = {
    {"PY_START", on_start, PP_METH_FASTCALL, 0},  {"PY_RESUME", on_resume, PP_METH_FASTCALL, 0},
    {"PY_THROW", on_throw, PP_METH_FASTCALL, 0},  {"PY_RETURN", on_return, PP_METH_FASTCALL, 0},
    {"PY_YIELD", on_yield, PP_METH_FASTCALL, 0},  {"PY_UNWIND", on_unwind, PP_METH_FASTCALL, 0},
    {"CALL", on_call, PP_METH_FASTCALL, 0},       {"C_RETURN", on_c_return, PP_METH_FASTCALL, 0},
    {"C_RAISE", on_c_raise, PP_METH_FASTCALL, 0},
};

// The functions of sys.monitoring that we call.
enum { PP_USE_TOOL_ID, PP_FREE_TOOL_ID, PP_GET_TOOL, PP_REGISTER_CALLBACK, PP_SET_EVENTS, PP_API_FUNCTIONS };
static const char* const kApiNames[PP_API_FUNCTIONS] = {"use_tool_id", "free_tool_id", "get_tool", "register_callback",
                                                        "set_events"};

// Kept from capture to capture, for one interpreter.
static struct {
  pp_address interpreter;
  pp_object* api[PP_API_FUNCTIONS];
  pp_object* callbacks[PP_EVENTS];
  long masks[PP_EVENTS];
  pp_object* tool_name;  // of this capture: what get_tool must say while the id is ours
} kept;

static const char kToolName[] = "ptrace-prof";
static const int kToolIds[] = {3, 4};  // 0, 1, 2 and 5 are for debuggers, coverage, profilers and optimizers

#define py_call(function, ...) \
  PP_FUNCTION(pp_object* (*)(pp_object*, const char*, ...), PyObject_CallFunction)(kept.api[function], __VA_ARGS__)

// Drops the result of a call. Whether it went well.
static int succeeded(pp_object* result) {
  if (!result) py_forget_error();
  py_release(result);
  return result != 0;
}

static unsigned event_count(void) { return pp_self.c_calls ? PP_EVENTS : PP_FRAME_EVENTS; }

// Takes the first of our ids that nobody has.
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
  int good = events != 0;
  for (unsigned i = 0; good && i < PP_EVENTS; ++i) good = make_callback(events, i);
  py_release(events);
  return good ? PP_STEP_NONE : PP_STEP_CALLBACK;
}

// What stays resident; made at the first capture.
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
  (void)succeeded(py_call(PP_FREE_TOOL_ID, "i", (int)pp_self.tool_id));
  py_release(kept.tool_name);
  kept.tool_name = 0;
  pp_self.tool_id = UINT32_MAX;
}

static enum pp_step switch_on(void) {
  if (!register_callbacks(event_count())) return PP_STEP_REGISTER;
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
  }
  return report;
}

// Where the job has taken our tool id from us, it keeps it.
static void remove_hooks(void) {
  pp_object* holder = py_call(PP_GET_TOOL, "i", (int)pp_self.tool_id);
  if (succeeded(holder) && holder == kept.tool_name) give_back();
}

enum { PP_PYTHON_MONITORING = 0x030c0000 };
const pp_hooks pp_monitoring_hooks = {PP_PYTHON_MONITORING, install, remove_hooks};
