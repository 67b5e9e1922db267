// Lists the Python processes of the node into a trace: the collector's verb kList.
//
// The scan of /proc (process_scan.h) runs as the caller and reads only text of the kernel. Code that reads a target's
// memory or an ELF file runs in a short-lived child per owner, started by `run_as`: it runs as that owner, without
// capabilities and behind a system call filter. The first attempt gives up every right, unless the owner is root.
//
// A process that is refused then (not dumpable, another user namespace, Yama) gets a child of its own. As a capture
// would, that child keeps CAP_SYS_PTRACE if the kernel requires it and the caller has it. If a child dies or hangs,
// only its current process is lost; the next child examines the others, until the third failure of a user, so that one
// user's traps cannot delay everyone.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/write/byte_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

struct OwnerWork {
  Uid uid;
  Gid gid;
  std::function<int()> probe;  // asks the kernel with the remaining rights; returns 0 or the errno
  // Runs in the child. With an error: the rights could not be given up, or do not suffice.
  std::function<void(const std::optional<Error>& denied, ByteSink& sink)> work;
};
struct OwnerReport {
  std::string bytes;  // what the work wrote to its sink
  std::string ended;  // empty: it finished; otherwise what happened ("was ended by signal 11")
};
using RunAs = std::function<OwnerReport(const OwnerWork&)>;

Result<void> ListProcesses(const RunAs& run_as, const std::atomic<bool>& stop, TraceWriter& writer);

}  // namespace ptrace_prof
