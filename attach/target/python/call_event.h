// Records a call of something that is not Python code, and its end, when the fast path cannot be used.
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_CALL_EVENT_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_CALL_EVENT_H_

#include "attach/target/python/event.h"

#pragma GCC visibility push(hidden)
// Records a C_CALL with data for its name, and with the calling code if that is wanted.
void pp_record_call(pp_address thread, const pp_object* callable, pp_address caller);
#pragma GCC visibility pop

// PyMethodDef of a function written in C, or 0.
static inline uint64_t pp_method_of(const pp_object* callable) {
  const pp_object* type = py_type(callable);
  if (type == PP_OBJECT(PyCFunction_Type) || type == PP_OBJECT(PyCMethod_Type)) {
    return PP_FIELD(uint64_t, callable, method_def);
  }
  if (type == PP_OBJECT(PyMethodDescr_Type) || type == PP_OBJECT(PyClassMethodDescr_Type)) {
    return PP_FIELD(uint64_t, callable, descriptor_method);
  }
  return 0;
}

static inline void pp_call_event(pp_address thread, unsigned tag, const pp_object* callable, pp_address caller) {
  if (tag == PP_TAG_C_CALL) {
    pp_record_call(thread, callable, pp_self.mutes ? caller : 0);
  } else {
    pp_record_one(thread, tag, (uint64_t)callable);
  }
}

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_CALL_EVENT_H_
