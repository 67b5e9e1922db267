// A PyModuleDef without CPython's headers, for the modules that a bootstrap text loads with _imp.create_dynamic.
//
// Its fields and slots have been the same since 3.5. The head of an object is longer without a GIL, so there are two
// definitions. Versions refuse slots that they do not know, so slots are added by traits. 3.15 refuses heads without a
// GIL that are not initialised as it would do (PyModuleDef_Init).
#ifndef PTRACE_PROF_ATTACH_TARGET_SHARED_MODULE_DEFINITION_H_
#define PTRACE_PROF_ATTACH_TARGET_SHARED_MODULE_DEFINITION_H_

#include "attach/abi/boot_head.h"

typedef struct pp_module_slot {
  int id;
  void* value;
} pp_module_slot;

typedef struct pp_module_body {
  void* init;
  intptr_t index;
  void* copy;
  const char* name;
  const char* documentation;
  intptr_t state_size;
  void* methods;
  pp_module_slot* slots;
  void *traverse, *clear, *free;
} pp_module_body;

enum { PP_SLOT_EXEC = 2, PP_SLOT_INTERPRETERS = 3, PP_SLOT_GIL = 4, PP_SLOT_COUNT = 4 };
enum { PP_HEAD_WITH_GIL = 16 };
#define PP_PER_INTERPRETER_GIL ((void*)2)
#define PP_GIL_NOT_USED ((void*)1)
// ob_tid; ob_flags (_Py_STATICALLY_ALLOCATED_FLAG, padding before 3.14), ob_mutex, ob_gc_bits, and ob_ref_local
// (_Py_IMMORTAL_REFCNT_LOCAL); ob_ref_shared; ob_type: PyObject_HEAD_INIT in Include/object.h.
#define PP_STATIC_HEAD \
  { 0, 4 | 0xffffffffull << 32, 0, 0 }

typedef struct pp_module_definition {
  pp_module_slot slots[PP_SLOT_COUNT];  // the first one is exec; the others are filled in at run time
  struct {
    uint64_t head[2];
    pp_module_body body;
  } with_gil;
  struct {
    uint64_t head[4];
    pp_module_body body;
  } free_threaded;
} pp_module_definition;

#define PP_MODULE_DEFINITION(object, called, execute)                                               \
  {                                                                                                 \
    .slots = {{PP_SLOT_EXEC, (void*)(execute)}},                                                    \
    .with_gil = {.head = {1, 0}, .body = {.name = (called), .slots = (object).slots}},              \
    .free_threaded = {.head = PP_STATIC_HEAD, .body = {.name = (called), .slots = (object).slots}}, \
  }

// The argument for PyModuleDef_Init, for a CPython with these traits and object heads of `head` bytes.
static inline void* pp_module_for(pp_module_definition* module, uint32_t traits, uint32_t head) {
  unsigned count = 1;
  if (traits & PP_PYTHON_INTERPRETERS_SLOT) {
    module->slots[count++] = (pp_module_slot){PP_SLOT_INTERPRETERS, PP_PER_INTERPRETER_GIL};
  }
  if (traits & PP_PYTHON_GIL_SLOT) module->slots[count++] = (pp_module_slot){PP_SLOT_GIL, PP_GIL_NOT_USED};
  module->slots[count] = (pp_module_slot){0, 0};
  return head == PP_HEAD_WITH_GIL ? (void*)&module->with_gil : (void*)&module->free_threaded;
}

#endif  // PTRACE_PROF_ATTACH_TARGET_SHARED_MODULE_DEFINITION_H_
