// Parses numbers with units, from a command line or a policy. Pure; an error says what was written and what is allowed.
#pragma once

#include <cstdint>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// "10", "10s", "500ms", "2m", "1h", "1d": above 0, at most 366 days. `or_else`: a further remedy for the error.
Result<Nanos> ParseDuration(std::string_view text, std::string_view or_else = "leave it out for no limit");
// "500", "1khz": times per second, above 0.
Result<double> ParseRate(std::string_view text);
// "1%", "0.5", "20%": as a share, 0.01 for one percent.
Result<double> ParsePercent(std::string_view text);
// "64M", "1 GiB", "4096": bytes, in units of 1024; 1 to 2^60.
Result<uint64_t> ParseSize(std::string_view text);

}  // namespace ptrace_prof
