// What operations without a name of their own are called: the words that other tools use for them, so that they are
// found by those.
#pragma once

#include <string>

#include "daemon/collector/gpu/gpu_record.h"

namespace ptrace_prof {

// "Memcpy HtoD (Pinned -> Device)", "Memset (Device)", "Stream Sync", "Instrumentation".
std::string GpuOperationName(const GpuRecord& record);

}  // namespace ptrace_prof
