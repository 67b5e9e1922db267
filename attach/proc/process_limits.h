// The resource limits of another process, out of the text of /proc/<pid>/limits, which everybody may read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr std::string_view kFileSizeLimit = "Max file size";  // RLIMIT_FSIZE, in bytes

// The soft limit of that name, UINT64_MAX where there is none; nullopt: the text does not say.
std::optional<uint64_t> ParseSoftLimit(std::string_view limits, std::string_view name);

}  // namespace ptrace_prof
