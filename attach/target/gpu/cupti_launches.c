// Enables the callbacks for calls that launch something, by the lists of the boot block.
#include "attach/target/gpu/cupti_library.h"

enum { PP_CALLS = 1024 };

// By domain and number: 1 + pp_gpu_launch_class; 0: not a launch.
static uint8_t launches[PP_CUPTI_DOMAIN_RUNTIME][PP_CALLS];
static int watched;

static void enable(uint32_t on, uint32_t domain, const uint16_t* calls) {
  const enum pp_gpu_step step = on ? PP_GPU_STEP_LAUNCHES : PP_GPU_STEP_NO_LAUNCHES;
  for (unsigned i = 0; i < PP_GPU_MAX_CALLBACKS && calls[i] && !(on && pp_gpu_is_called_off()); ++i) {
    const uint32_t call = calls[i] & ~PP_GPU_CALL_OF_GRAPH;
    if (call >= PP_CALLS) continue;
    const int is_graph = (calls[i] & PP_GPU_CALL_OF_GRAPH) != 0;
    launches[domain - 1][call] = 1 + (is_graph ? PP_GPU_LAUNCH_GRAPH : PP_GPU_LAUNCH_SINGLE);
    // Versions have different subsets of the calls.
    (void)PP_CUPTI_CALL(step, pp_cupti.cuptiEnableCallback(on, pp_cupti.subscriber, domain, call));
  }
}

static void enable_all(uint32_t on) {
  enable(on, PP_CUPTI_DOMAIN_RUNTIME, pp_gpu_boot_block.runtime_launches);
  enable(on, PP_CUPTI_DOMAIN_DRIVER, pp_gpu_boot_block.driver_launches);
}

void pp_cupti_watch_launches(void) {
  watched = 1;
  pp_gpu_begin_launches();
  enable_all(1);
}

void pp_cupti_forget_launches(void) {
  if (watched && pp_cupti.subscriber) enable_all(0);
  watched = 0;
}

void pp_cupti_on_call(uint32_t domain, uint32_t cbid, const pp_cupti_call_data* call) {
  const uint8_t known = cbid < PP_CALLS ? launches[domain - 1][cbid] : 0;
  if (known && call->correlation) pp_gpu_on_launch((enum pp_gpu_launch_class)(known - 1), call->correlation);
}
