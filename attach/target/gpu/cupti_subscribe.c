// Becomes CUPTI's only subscriber, if possible by the call that passes our name and returns that of the present one.
#include "attach/target/gpu/cupti_library.h"

// The name comes from another tool, so only printable ASCII is kept.
static void keep_other_name(const char* name) {
  unsigned length = 0;
  for (unsigned i = 0; i < PP_GPU_NAME_BYTES - 1 && name[i]; ++i) {
    if (name[i] >= ' ' && name[i] <= '~') pp_gpu.arena->other_tool[length++] = name[i];
  }
  pp_gpu.arena->other_tool[length] = 0;
}

static int subscribe_as(size_t size) {
  char other[PP_GPU_NAME_BYTES] = {0};
  pp_cupti_subscriber_params params = {size, "ptrace-prof", other, sizeof other, 0, {0}};
  const int result = pp_cupti.cuptiSubscribe_v2(&pp_cupti.subscriber, pp_cupti_on_callback, 0, &params);
  other[sizeof other - 1] = 0;
  if (other[0] && (result == PP_CUPTI_MULTIPLE_SUBSCRIBERS || !result)) keep_other_name(other);
  return result;
}

// The parameters got longer with 13.3, and each version accepts only its own length.
int pp_cupti_subscribe(void) {
  static const size_t kSizes[] = {PP_CUPTI_SUBSCRIBER_PARAMS_13_0, sizeof(pp_cupti_subscriber_params)};
  int result = PP_CUPTI_INVALID_PARAMETER;
  for (unsigned i = 0; pp_cupti.cuptiSubscribe_v2 && result == PP_CUPTI_INVALID_PARAMETER && i < 2; ++i) {
    result = subscribe_as(kSizes[pp_cupti.version >= PP_CUPTI_13_3 ? 1 - i : i]);
  }
  if (result != PP_CUPTI_INVALID_PARAMETER) return result;
  return pp_cupti.cuptiSubscribe(&pp_cupti.subscriber, pp_cupti_on_callback, 0);
}
