// What a user says of a recording (--meta KEY=VALUE): it goes into the trace, and from there into the exports.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "attach/base/result.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

inline constexpr size_t kMostMetadata = 64;  // entries

// kInvalidArgument: not KEY=VALUE, too long, not printable, or a key that exports use themselves.
Result<std::pair<std::string, std::string>> ParseMetadata(std::string_view text);
// Adds an entry for each key that is not there yet. Entries that make no sense are left out: a trace may contain
// anything.
void AddMetadata(const v1::CaptureSpec& spec, std::map<std::string, std::string>& metadata);

}  // namespace ptrace_prof
