// Reads a collector's findings about processes and the node to their end: a listing (ps) or a diagnosis (doctor).
//
// Single-threaded. Text in entries comes from the targets and is not yet printable.
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

// The code that `record` would end with: kOk, or the code of the first missing thing for `pid` (0: for the node).
Code OutcomeFor(const Inspection& inspection, Pid pid);

// Sends the request and waits for the whole answer. kDataLoss: the answer has no end. An end with an error is no error
// here.
Result<Inspection> Inspect(CaptureBackend& backend, const CaptureTask& request);

}  // namespace ptrace_prof
