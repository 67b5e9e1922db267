// Calls that some versions of CUPTI lack. Their settings apply to the whole process, for every user of CUPTI.
#include "attach/target/gpu/cupti_library.h"

int pp_cupti_name_threads(void) {
  return pp_cupti.cuptiSetThreadIdType ? pp_cupti.cuptiSetThreadIdType(PP_CUPTI_THREAD_ID_SYSTEM)
                                       : PP_CUPTI_INVALID_PARAMETER;
}

int pp_cupti_set_attribute(uint32_t attribute, void* value, size_t size) {
  return pp_cupti.cuptiActivitySetAttribute ? pp_cupti.cuptiActivitySetAttribute(attribute, &size, value)
                                            : PP_CUPTI_INVALID_PARAMETER;
}

int pp_cupti_enable_and_dump(uint32_t kind) {
  return (pp_cupti.cuptiActivityEnableAndDump ? pp_cupti.cuptiActivityEnableAndDump
                                              : pp_cupti.cuptiActivityEnable)(kind);
}

pp_cupti_single_call pp_cupti_single_call_of(uint32_t kind) {
  if (pp_cupti.version < PP_CUPTI_12_5) return 0;
  return kind == PP_CUPTI_KIND_RUNTIME ? pp_cupti.cuptiActivityEnableRuntimeApi : pp_cupti.cuptiActivityEnableDriverApi;
}

int pp_cupti_timestamp(uint64_t* said) {
  return pp_cupti.cuptiGetTimestamp ? pp_cupti.cuptiGetTimestamp(said) : PP_CUPTI_INVALID_PARAMETER;
}
