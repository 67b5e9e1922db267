// What a collector found out about processes and the node: a listing (ps) or a diagnosis (doctor), read to its end.
//
// Single-threaded. Text in entries is the targets' and not yet printable.
#pragma once

#include <vector>

#include "attach/base/result.h"
#include "client/remote/capture_backend.h"
#include "daemon/trace/check.h"
#include "daemon/trace/model.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

struct Inspection {
  std::vector<ProcessEntry> entries;
  std::vector<Check> checks;
  EndInfo end;
};

// What `record` would end with: kOk, or the code of the first thing that is missing for `pid`, or (0) for the node.
Code OutcomeFor(const Inspection& inspection, Pid pid);

// Asks and waits for all of the answer. An answer without an end is kDataLoss; an end with an error is no error here.
Result<Inspection> Inspect(CaptureBackend& backend, const CaptureTask& request);

}  // namespace ptrace_prof
