// The interpreter as seen by the stub: opaque addresses, the functions in pp_boot, and fields at the offsets in
// pp_boot.
//
// Uses no CPython header: one stub serves all versions. Everything here runs in the target, with its GIL held (or, on a
// free-threaded build, attached).
#ifndef PTRACE_PROF_ATTACH_TARGET_PYTHON_PYTHON_H_
#define PTRACE_PROF_ATTACH_TARGET_PYTHON_PYTHON_H_

#include "attach/abi/boot.h"

typedef struct pp_object pp_object;  // a PyObject
typedef uint64_t pp_address;         // of a PyThreadState, a frame, a code object: read by offset

typedef pp_object* (*pp_fast_function)(pp_object* self, pp_object* const* arguments, intptr_t count);
typedef int (*pp_profile_function)(pp_object* self, pp_object* frame, int what, pp_object* argument);

// PyMethodDef.
typedef struct pp_method {
  const char* name;
  pp_fast_function function;
  int flags;
  const char* documentation;
} pp_method;
enum { PP_METH_FASTCALL = 0x80 };

// Hidden: these symbols are used only inside the stub, and so need no table of addresses.
#pragma GCC visibility push(hidden)
extern pp_boot pp_boot_block;
#pragma GCC visibility pop

#define PP_ABSENT UINT32_MAX
#define PP_HAS_FUNCTION(name) (pp_boot_block.functions[PP_FN_##name] != 0)
#define PP_FUNCTION(type, name) ((type)pp_boot_block.functions[PP_FN_##name])
#define PP_OBJECT(name) ((pp_object*)pp_boot_block.functions[PP_FN_##name])
#define PP_HAS_FIELD(name) (pp_boot_block.offsets[PP_OFF_##name] != PP_ABSENT)
#define PP_FIELD(type, base, name) (*(type*)((pp_address)(base) + pp_boot_block.offsets[PP_OFF_##name]))

#define PP_NUMBER(name) (pp_boot_block.offsets[PP_OFF_##name])

static inline int py_is(enum pp_python_trait trait) { return (pp_boot_block.python_traits & trait) != 0; }

static inline pp_address py_thread_state(void) {
  return PP_FUNCTION(pp_address(*)(void), PyThreadState_GetUnchecked)();
}

static inline void py_release(pp_object* object) {
  if (object) PP_FUNCTION(void (*)(pp_object*), Py_DecRef)(object);
}

static inline pp_object* py_attribute(pp_object* object, const char* name) {
  return PP_FUNCTION(pp_object * (*)(pp_object*, const char*), PyObject_GetAttrString)(object, name);
}

static inline pp_object* py_type(const pp_object* object) { return PP_FIELD(pp_object*, object, object_type); }

// On a free-threaded build the head of an object is longer.
static inline int py_is_free_threaded(void) { return pp_boot_block.offsets[PP_OFF_object_type] != sizeof(pp_address); }

// The frame that the thread executes; see pp_offset for the two variants.
static inline pp_address py_current_frame(pp_address thread) {
  if (PP_HAS_FIELD(thread_frame)) return PP_FIELD(pp_address, thread, thread_frame);
  return PP_FIELD(pp_address, PP_FIELD(pp_address, thread, thread_cframe), cframe_current_frame);
}

static inline pp_address py_code_of(pp_address frame) {
  return PP_FIELD(pp_address, frame, frame_code) & ~(pp_address)pp_boot_block.frame_tag_mask;
}

// Generators, coroutines and asynchronous generators: code whose frames may be suspended.
static inline int py_may_suspend(pp_address code) { return (PP_FIELD(uint32_t, code, code_flags) & 0x2a0u) != 0; }

// The code of a function that may not be suspended; not that of a module or a class body.
static inline int py_is_function(pp_address code) { return (PP_FIELD(uint32_t, code, code_flags) & 0x2a2u) == 2; }

// The state to preserve for the interpreter: a pending exception and errno.
typedef struct pp_preserved {
  pp_object *type, *value, *traceback;
  int number;
} pp_preserved;

static inline pp_preserved py_preserve(void) {
  pp_preserved kept = {0, 0, 0, 0};
  PP_FUNCTION(void (*)(pp_object**, pp_object**, pp_object**), PyErr_Fetch)(&kept.type, &kept.value, &kept.traceback);
  if (PP_HAS_FUNCTION(__errno_location)) kept.number = *PP_FUNCTION(int* (*)(void), __errno_location)();
  return kept;
}

// Also drops an exception of ours, if there is one.
static inline void py_restore(pp_preserved kept) {
  PP_FUNCTION(void (*)(pp_object*, pp_object*, pp_object*), PyErr_Restore)(kept.type, kept.value, kept.traceback);
  if (PP_HAS_FUNCTION(__errno_location)) *PP_FUNCTION(int* (*)(void), __errno_location)() = kept.number;
}

static inline void py_forget_error(void) { PP_FUNCTION(void (*)(void), PyErr_Clear)(); }

#endif  // PTRACE_PROF_ATTACH_TARGET_PYTHON_PYTHON_H_
