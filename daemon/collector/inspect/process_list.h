// Lists the Python processes of the node into a trace: the verb kList of the collector.
//
// Who runs what: the scan of /proc (process_scan.h) runs as the caller and reads text of the kernel. Whatever reads a
// target's memory or an ELF file runs in a short-lived child per owner, which `run_as` starts: it has become that
// owner, without capabilities and behind a system call filter. The first attempt gives up every right, unless the owner
// is root; a process that is refused then (not dumpable, another user namespace, Yama) gets a child of its own, which
// keeps CAP_SYS_PTRACE if the kernel insists and the caller has it, as a capture of that process would. A child that
// dies or hangs costs the one process that it was at; the others are examined by the next child, until the
// third of a user: the traps of one user shall not keep everybody waiting.
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
  std::function<int()> probe;  // asks the kernel with the rights that are left: 0 or the errno
  // Runs in the child. With an error: the rights could not be given up, or do not suffice.
  std::function<void(const std::optional<Error>& denied, ByteSink& sink)> work;
};
struct OwnerReport {
  std::string bytes;  // what the work wrote to its sink
  std::string ended;  // empty: it came to its end; else what happened ("was ended by signal 11")
};
using RunAs = std::function<OwnerReport(const OwnerWork&)>;

Result<void> ListProcesses(const RunAs& run_as, const std::atomic<bool>& stop, TraceWriter& writer);

}  // namespace ptrace_prof
