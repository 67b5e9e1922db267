// The module that loads the shim: its exec slot starts the control thread. It is not in sys.modules.
#include "attach/target/gpu/gpu_shim.h"
#include "attach/target/shared/module_definition.h"

static int execute(void* module) {
  (void)module;
  return pp_gpu_enter(0);
}

static pp_module_definition definition = PP_MODULE_DEFINITION(definition, "_ptrace_prof_gpu", execute);

__attribute__((visibility("default"))) void* PyInit__ptrace_prof_gpu(void) {
  const pp_gpu_boot* boot = &pp_gpu_boot_block;
  if (!PP_GPU_HAS_FUNCTION(PyModuleDef_Init)) return 0;  // no boot block: the interpreter reports an error
  pp_gpu_boot_block.enter_entry = (uint64_t)&pp_gpu_enter;
  void* module = pp_module_for(&definition, boot->python_traits, boot->object_head);
  return PP_GPU_FUNCTION(void* (*)(void*), PyModuleDef_Init)(module);
}
