// The block that the collector fills in. It has its own file, so that no compiler assumes its initial values.
#include "attach/abi/torch_boot.h"

pp_torch_boot pp_torch_boot_block = {.magic = {PP_TORCH_BOOT_MAGIC_0, PP_TORCH_BOOT_MAGIC_1},
                                     .abi_version = PP_TORCH_ABI_VERSION};
