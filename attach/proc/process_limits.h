// Parses the resource limits of another process from /proc/<pid>/limits, which every user may read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr std::string_view kFileSizeLimit = "Max file size";  // RLIMIT_FSIZE, in bytes

// The soft limit of that name; UINT64_MAX if unlimited; nullopt: it is not in the text.
std::optional<uint64_t> ParseSoftLimit(std::string_view limits, std::string_view name);

}  // namespace ptrace_prof
