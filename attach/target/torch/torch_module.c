// The module that loads the hook: its exec slot installs it. It is not in sys.modules.
#include "attach/target/shared/module_definition.h"
#include "attach/target/torch/torch_hook.h"

static int execute(void* module) {
  (void)module;
  return pp_torch_enter(0);
}

static pp_module_definition definition = PP_MODULE_DEFINITION(definition, "_ptrace_prof_torch", execute);

__attribute__((visibility("default"))) void* PyInit__ptrace_prof_torch(void) {
  const pp_torch_boot* boot = &pp_torch_boot_block;
  if (!boot->functions[PP_TORCH_FN_PyModuleDef_Init]) return 0;  // no boot block: the interpreter reports an error
  pp_torch_boot_block.enter_entry = (uint64_t)&pp_torch_enter;
  void* module = pp_module_for(&definition, boot->python_traits, boot->object_head);
  return PP_TORCH_FUNCTION(void* (*)(void*), PyModuleDef_Init)(module);
}
