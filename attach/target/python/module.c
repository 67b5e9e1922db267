// The module that a bootstrap text loads with _imp.create_dynamic: its exec slot calls pp_enter. It is not in
// sys.modules.
#include "attach/target/shared/module_definition.h"
#include "attach/target/python/python.h"
#include "attach/target/python/stub.h"

// Called by the Python text that loads us.
static int execute(pp_object* module) {
  (void)module;
  const pp_address thread = PP_HAS_FUNCTION(PyThreadState_GetUnchecked) ? py_thread_state() : 0;
  const pp_address frame = thread ? py_current_frame(thread) : 0;
  return pp_enter(frame && PP_HAS_FIELD(frame_code) ? (void*)py_code_of(frame) : 0);
}

static pp_module_definition definition = PP_MODULE_DEFINITION(definition, "_ptrace_prof_stub", execute);

__attribute__((visibility("default"))) pp_object* PyInit__ptrace_prof_stub(void) {
  if (!PP_HAS_FUNCTION(PyModuleDef_Init)) return 0;  // no boot block: the interpreter reports an error
  pp_boot_block.enter_entry = (uint64_t)&pp_enter;
  const uint32_t head = pp_boot_block.offsets[PP_OFF_object_type] + (uint32_t)sizeof(void*);
  void* module = pp_module_for(&definition, pp_boot_block.python_traits, head);
  return PP_FUNCTION(pp_object * (*)(void*), PyModuleDef_Init)(module);
}
