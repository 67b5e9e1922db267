// What one `record` is to do, put together from its options and checked: the task, the program to start if any,
// the output and its format. Pure apart from the clock and the look at what the output path is
// (MakeRecordPlan), and at the list of processes (FindTarget).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "client/cli/inspect/named_target.h"
#include "client/cli/record/spec_options.h"
#include "daemon/export/exporter.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// What `record` is told beside the options of the capture; empty where nothing was written.
struct RecordOptions {
  std::string pid;
  std::string name;  // a pattern of a command line, instead of a pid
  std::string wait;  // how long for that to appear; empty: without end
  bool is_waiting = false;
  std::string format;
  std::string output;
  bool detach = false;
  bool quiet = false;
};

struct RecordPlan {
  CaptureTask task;
  std::vector<std::string> program;  // empty: the target of the task runs already
  std::optional<NamedQuery> named;   // who that is has to be found out first; see FindTarget
  ExportFormat format = ExportFormat::kHtml;
  std::string output;      // "-" is standard output
  std::string headline;    // said when it begins; empty: from the task
  std::string spool_base;  // where the raw trace lies meanwhile: the output, or in TMPDIR where that is no plain file
};

// --wait is for the process of --name, or for the steps of a schedule whose parts are given: what is written behind it
// goes there.
Result<void> ReadWait(bool is_written, RecordOptions& options, SpecOptions& spec);
// `spec`: checked and filled, without a target.
Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const v1::CaptureSpec& spec,
                                  const std::vector<std::string>& program);
// Finds the process of a plan that has but its name, and names the output after it. See FindNamed.
Result<void> FindTarget(CaptureBackend& backend, const RecordOptions& options, RecordPlan& plan);

}  // namespace ptrace_prof
