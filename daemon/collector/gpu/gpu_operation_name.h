// Names for operations that have none: the same words as in other tools, so that they can be found by them.
#pragma once

#include <string>

#include "daemon/collector/gpu/gpu_record.h"

namespace ptrace_prof {

// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "Stream Sync", "Instrumentation".
std::string GpuOperationName(const GpuRecord& record);

}  // namespace ptrace_prof
