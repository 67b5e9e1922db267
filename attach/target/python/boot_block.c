// The block that the collector fills in. It has its own file, so that no compiler assumes its initial values.
#include "attach/abi/boot.h"

pp_boot pp_boot_block = {.magic = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1}, .abi_version = PP_ABI_VERSION};
