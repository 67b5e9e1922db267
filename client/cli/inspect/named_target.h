// `record --name`: the running process that is meant by a pattern of its command line, waited for if that is wanted.
//
// Single-threaded. Asks for the list of processes, twice a second while it waits; takes Ctrl-C meanwhile.
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
  std::optional<Nanos> wait;  // for one to appear: at most so long; 0: without end; absent: not at all
  bool quiet = false;
};

// The Python processes that match, but for ourselves and for those below another that matches: who records that one
// records them too.
std::vector<ProcessEntry> MatchesOf(std::span<const ProcessEntry> entries, const CommandPattern& pattern,
                                    Pid ourselves);

// Sets the target of `task`. kNotFound: nobody matches (in time). kInvalidArgument: the pattern is none, or
// several match; they are listed on stderr. kCancelled: Ctrl-C while waiting.
Result<void> FindNamed(CaptureBackend& backend, const NamedQuery& query, CaptureTask& task);

}  // namespace ptrace_prof
