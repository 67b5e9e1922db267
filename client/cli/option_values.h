// What people write after an option, understood: "2m", "1khz", "1%", "12,14". Each error names what is allowed.
// Stateless.
#pragma once

#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

// 10, 1.5s, 500ms, 2m, 1h. `or_else`: what else can be done, for the hint.
Result<Nanos> ParseDuration(std::string_view text, std::string_view or_else = "leave it out to record until Ctrl-C");
Result<double> ParseRate(std::string_view text);              // 500, 500hz, 1khz; "max" is 0
Result<double> ParsePercent(std::string_view text);           // 1, 1%, 0.5%; "off" is 0; the result is a share
Result<IdlePolicy> ParseIdle(std::string_view text);          // main, all, none
Result<GpuCounters> ParseGpuCounters(std::string_view text);  // auto, on, off
Result<CaptureMode> ParseMode(std::string_view text);         // sample, trace, auto
// drop, stop; throttle is kUnimplemented.
Result<OnFull> ParseOnFull(std::string_view text);
// Bytes: 65536, 64K, 64M, 1G (powers of 1024), within the limits.
Result<uint64_t> ParseSize(std::string_view text, uint64_t least, uint64_t most);
Result<std::vector<Tid>> ParseThreads(std::string_view text);  // 12,14
Result<Pid> ParsePid(std::string_view text);
Result<Pid> ParseTarget(std::string_view text);  // the same; kInvalidArgument: it is our own

}  // namespace ptrace_prof
