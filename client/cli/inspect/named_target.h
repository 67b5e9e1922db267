// `record --name`: finds the running process whose command line matches a pattern, and can wait for one.
//
// Single-threaded. Requests the list of processes, twice a second while it waits; handles Ctrl-C meanwhile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "client/cli/command_pattern.h"
#include "client/remote/capture_backend.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

struct NamedQuery {
  std::string pattern;        // an extended regular expression
  std::optional<Nanos> wait;  // how long to wait for a match; 0: no limit; absent: do not wait
  bool quiet = false;
};

// The matching Python processes, except ourselves and descendants of another match, because recording the ancestor
// records them too.
std::vector<ProcessEntry> MatchesOf(std::span<const ProcessEntry> entries, const CommandPattern& pattern,
                                    Pid ourselves);

// Sets the target of `task`. kNotFound: no process matches (in time). kInvalidArgument: the pattern is invalid, or
// several processes match; they are listed on stderr. kCancelled: Ctrl-C while waiting.
Result<void> FindNamed(CaptureBackend& backend, const NamedQuery& query, CaptureTask& task);

}  // namespace ptrace_prof
