// The block that the collector fills in. It has its own file, so that no compiler assumes its initial values.
#include "attach/abi/gpu_boot.h"

pp_gpu_boot pp_gpu_boot_block = {.magic = {PP_GPU_BOOT_MAGIC_0, PP_GPU_BOOT_MAGIC_1},
                                 .abi_version = PP_GPU_ABI_VERSION};
