// Amounts as an administrator writes them: "90s", "2h", "500MB", "8GiB", "10%". Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attach/base/types.h"

namespace ptrace_prof {

// A number with ms, s, m, h or d behind it; without a unit, seconds. More than nothing, and at most a year.
std::optional<Nanos> ParseDuration(std::string_view text);
// A number with B, KB, MB, GB or TB (or KiB and so on, which is the same: units of 1024) behind it; without a unit,
// bytes. At least 1, and at most 2^60.
std::optional<uint64_t> ParseSize(std::string_view text);
// A number with % behind it, more than 0 and at most 100: 0.1 for "10%".
std::optional<double> ParseShare(std::string_view text);

}  // namespace ptrace_prof
