// The block that the collector fills in. In a file of its own, so that no compiler believes its first values.
#include "attach/abi/boot.h"

pp_boot pp_boot_block = {.magic = {PP_BOOT_MAGIC_0, PP_BOOT_MAGIC_1}, .abi_version = PP_ABI_VERSION};
