// Records a C_CALL, with data that identify the called non-Python callable while it is alive: objects that carry a C
// function are short-lived, especially with super(). The data are written at the first call of a method in a ring, and
// at all calls of slots, of __new__ and of instances.
#include "attach/target/python/call_event.h"

typedef struct pp_called {
  uint64_t method;       // PyMethodDef or wrapperbase; 0: none
  uint64_t owner;        // see PP_TAG_SELF; 0: nothing to record
  uint64_t is_its_only;  // no other class has the method
} pp_called;

// PyTypeObject: tp_flags … tp_methods … tp_base, the same from 3.8 on.
enum { PP_METHODS_BEHIND_FLAGS = 64, PP_BASE_BEHIND_FLAGS = 88 };
enum { PP_MAX_BASES = 64, PP_MAX_METHODS = 1024 };  // bounds of walks
#define PP_IS_TYPE (1ull << 31)                     /* Py_TPFLAGS_TYPE_SUBCLASS */

static uint64_t word_behind(const void* base, uint64_t offset) {
  return *(const uint64_t*)((const char*)base + offset);
}

static uint64_t of_type(const pp_object* type, uint64_t behind_flags) {
  return word_behind(type, pp_boot_block.offsets[PP_OFF_type_flags] + behind_flags);
}

static int is_type(const pp_object* object) { return (of_type(py_type(object), 0) & PP_IS_TYPE) != 0; }

static int has_method(const pp_object* type, uint64_t method) {
  const uint64_t first = of_type(type, PP_METHODS_BEHIND_FLAGS);
  if (!first || method < first || (method - first) % sizeof(pp_method)) return 0;
  const pp_method* methods = (const pp_method*)first;
  for (unsigned i = 0; i < PP_MAX_METHODS && methods[i].name; ++i) {
    if ((uint64_t)&methods[i] == method) return 1;
  }
  return 0;
}

// The class among `type` and its bases that defines the method.
static uint64_t definer(const pp_object* type, uint64_t method) {
  for (unsigned i = 0; type && i < PP_MAX_BASES; ++i) {
    if (has_method(type, method)) return (uint64_t)type;
    type = (const pp_object*)of_type(type, PP_BASE_BEHIND_FLAGS);
  }
  return 0;
}

// For a bound function. __new__ uses one PyMethodDef for all classes, bound to the class that has it.
static pp_called describe_bound(const pp_object* function, uint64_t method) {
  pp_called called = {method, 0, 1};
  const pp_object* self = (const pp_object*)word_behind(&PP_FIELD(uint64_t, function, method_def), sizeof(uint64_t));
  if (!self || py_type(self) == PP_OBJECT(PyModule_Type)) return called;
  if (is_type(self)) called.owner = definer(self, method);
  if (!called.owner) called.owner = definer(py_type(self), method);
  if (!called.owner && is_type(self)) {
    called.owner = (uint64_t)self;
    called.is_its_only = 0;
  }
  return called;
}

static pp_called describe_slot(const pp_object* wrapper) {
  const uint64_t base = PP_FIELD(uint64_t, wrapper, descriptor_method);  // d_base
  const uint64_t type = PP_FIELD(uint64_t, wrapper, method_def);         // d_type
  return (pp_called){base, type, 0};
}

// Whether it is the class of that name that is written in C: Python classes have no table of methods.
static int is_of_c(const pp_object* type, const char* wanted) {
  const char* name = PP_FIELD(const char*, type, type_name);
  while (*name && *name == *wanted) ++name, ++wanted;
  return *name == *wanted && of_type(type, PP_METHODS_BEHIND_FLAGS) != 0;
}

// From 3.13 on, the collector does not know the address of that type.
static int is_method_wrapper(const pp_object* type) {
  if (PP_HAS_FUNCTION(_PyMethodWrapper_Type)) return type == PP_OBJECT(_PyMethodWrapper_Type);
  return is_of_c(type, "method-wrapper");
}

// A wrapper of functools.lru_cache is identified by the code that it wraps: lru_cache_object.func, and its func_code.
enum { PP_WRAPPED_BEHIND_HEAD = 72 };
static uint64_t wrapped_code(const pp_object* callable, const pp_object* type) {
  if (!PP_HAS_FIELD(function_code) || !is_of_c(type, "functools._lru_cache_wrapper")) return 0;
  const pp_object* function =
      (const pp_object*)word_behind(&PP_FIELD(uint64_t, callable, method_def), PP_WRAPPED_BEHIND_HEAD);
  if (!function || py_type(function) != PP_OBJECT(PyFunction_Type)) return 0;
  return PP_FIELD(uint64_t, function, function_code);
}

static pp_called describe_called(const pp_object* callable) {
  const pp_object* type = py_type(callable);
  if (type == PP_OBJECT(PyCFunction_Type) || type == PP_OBJECT(PyCMethod_Type)) {
    return describe_bound(callable, PP_FIELD(uint64_t, callable, method_def));
  }
  if (type == PP_OBJECT(PyMethodDescr_Type) || type == PP_OBJECT(PyClassMethodDescr_Type)) {
    return (pp_called){PP_FIELD(uint64_t, callable, descriptor_method), PP_FIELD(uint64_t, callable, method_def), 1};
  }
  if (type == PP_OBJECT(PyWrapperDescr_Type)) return describe_slot(callable);
  if (is_method_wrapper(type)) {
    return describe_slot(PP_FIELD(const pp_object*, callable, method_def) /* descr */);
  }
  if (is_type(callable)) return (pp_called){0, 0, 0};
  return (pp_called){wrapped_code(callable, type), (uint64_t)type, 0};
}

void pp_record_call(pp_address thread, const pp_object* callable, pp_address caller) {
  uint64_t now;
  pp_slot* slot = pp_begin_event(thread, PP_TAG_C_CALL, &now);
  if (!slot) return;
  pp_ring* ring = slot->ring;
  uint64_t head = ring->head;
  const uint64_t method = pp_method_of(callable);
  pp_called called = {method, 0, 0};
  if (!method || *pp_owned_at(slot, method) != method) called = describe_called(callable);
  pp_write(slot, head++, now, PP_TAG_C_CALL, (uint64_t)callable);
  if (called.method) pp_write(slot, head++, now, PP_TAG_CODE, called.method);
  if (called.owner) pp_write(slot, head++, now, PP_TAG_SELF, called.owner);
  if (caller) pp_write(slot, head++, now, PP_TAG_CALLER, caller);
  if (called.is_its_only) *pp_owned_at(slot, method) = method;
  pp_publish(ring, head);
}
