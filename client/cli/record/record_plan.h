// Turns the options of one `record` into a checked plan: the task, the program to start if any, the output and its
// format. Pure, except for the clock and a look at the output path (MakeRecordPlan), and the list of processes
// (FindTarget).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "client/cli/inspect/named_target.h"
#include "client/cli/record/spec_options.h"
#include "client/cli/record/trace_ready.h"
#include "daemon/export/exporter.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// The options of `record` that are not options of the capture; empty if not given.
struct RecordOptions {
  std::string pid;
  std::string name;  // a pattern of a command line, instead of a process ID
  std::string wait;  // how long to wait for a match; empty: no limit
  bool is_waiting = false;
  std::string format;
  std::string output;
  std::vector<std::string> on_trace_ready;
  bool detach = false;
  bool quiet = false;
};

struct RecordPlan {
  CaptureTask task;
  std::vector<std::string> program;  // empty: the target of the task is already running
  std::optional<NamedQuery> named;   // the target must be found first, see FindTarget
  ExportFormat format = ExportFormat::kHtml;
  std::string output;  // "-" is standard output
  std::optional<TraceReadyPlan> on_trace_ready;
  std::string headline;    // printed at the start; empty: made from the task
  std::string spool_base;  // path of the raw trace while recording: the output, or in TMPDIR if the output is not a
                           // regular file
};

// --wait belongs to --name, or to the steps of a schedule if parts of one are given. Moves its value to where it
// belongs.
Result<void> ReadWait(bool is_written, RecordOptions& options, SpecOptions& spec);
// `spec` is checked and filled, without a target.
Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const v1::CaptureSpec& spec,
                                  const std::vector<std::string>& program);
// Finds the target of a plan that only has its name, and names the output after it. See FindNamed.
Result<void> FindTarget(CaptureBackend& backend, const RecordOptions& options, RecordPlan& plan);

}  // namespace ptrace_prof
