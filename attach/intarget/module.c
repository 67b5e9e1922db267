// The module that a bootstrap loads with _imp.create_dynamic: its exec slot calls pp_enter. It is in no sys.modules.
//
// PyModuleDef and its slots have been the same since 3.5; the head of an object is longer where there is no GIL, so
// there are two definitions. Versions refuse slots that they do not know, hence the rows.
#include "attach/intarget/stub.h"

typedef struct module_slot {
  int id;
  void* value;
} module_slot;

typedef struct module_body {
  void* init;
  intptr_t index;
  void* copy;
  const char* name;
  const char* documentation;
  intptr_t state_size;
  void* methods;
  module_slot* slots;
  void *traverse, *clear, *free;
} module_body;

static int execute(pp_object* module) {
  (void)module;
  return pp_enter(0);
}

enum { PP_SLOT_EXEC = 2, PP_SLOT_INTERPRETERS = 3, PP_SLOT_GIL = 4, PP_SLOT_COUNT = 4 };
enum { PP_PYTHON_INTERPRETERS = 0x030c0000, PP_PYTHON_GIL = 0x030d0000, PP_HEAD_WITH_GIL = 16 };
#define PP_PER_INTERPRETER_GIL ((void*)2)
#define PP_GIL_NOT_USED ((void*)1)

static module_slot slots[PP_SLOT_COUNT] = {{PP_SLOT_EXEC, (void*)execute}};
#define PP_MODULE_BODY \
  { .name = "_ptrace_prof_stub", .slots = slots }

static struct {
  uint64_t head[2];
  module_body body;
} with_gil = {.head = {1, 0}, .body = PP_MODULE_BODY};

static struct {
  uint64_t head[4];
  module_body body;
} free_threaded = {.body = PP_MODULE_BODY};

__attribute__((visibility("default"))) pp_object* PyInit__ptrace_prof_stub(void) {
  if (!PP_HAS_FUNCTION(PyModuleDef_Init)) return 0;  // nobody told us anything: the interpreter says so
  pp_boot_block.enter_entry = (uint64_t)&pp_enter;
  unsigned count = 1;
  if (pp_boot_block.python_hex >= PP_PYTHON_INTERPRETERS) {
    slots[count++] = (module_slot){PP_SLOT_INTERPRETERS, PP_PER_INTERPRETER_GIL};
  }
  if (pp_boot_block.python_hex >= PP_PYTHON_GIL) slots[count++] = (module_slot){PP_SLOT_GIL, PP_GIL_NOT_USED};
  slots[count] = (module_slot){0, 0};
  const uint32_t head = pp_boot_block.offsets[PP_OFF_object_type] + (uint32_t)sizeof(void*);
  void* definition = head == PP_HEAD_WITH_GIL ? (void*)&with_gil : (void*)&free_threaded;
  return PP_FUNCTION(pp_object * (*)(void*), PyModuleDef_Init)(definition);
}
