// The definition of the stub's state (stub.h).
#include "attach/target/python/stub.h"

pp_stub pp_self = {.file = {.descriptor = -1}, .tool_id = UINT32_MAX, .code_watcher = -1};
