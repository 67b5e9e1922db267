// What one `record` is to do, put together from its options and checked: the request, the program to start if any,
// the output and its format. Pure apart from the clock and the look at what the output path is
// (MakeRecordPlan), and at the list of processes (FindTarget).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "client/cli/named_target.h"
#include "daemon/export/exporter.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

// As written on the command line; empty where nothing was.
struct RecordOptions {
  std::string pid;
  std::string name;  // a pattern of a command line, instead of a pid
  std::string wait;  // how long for that to appear; empty: without end
  bool is_waiting = false;
  std::string duration;
  std::string rate;
  std::string format;
  std::string output;
  std::string threads;
  std::string idle;
  std::string max_overhead;
  std::string mode;
  std::string gpu_counters;
  std::string buffer;
  std::string min_duration;
  std::string on_full;
  std::string gpu_detail;
  std::string steps;
  std::string schedule;  // whole, or its parts, of which `wait` may be one:
  std::string skip_first;
  std::string warmup;
  std::string active;
  std::string repeat;
  std::vector<std::string> filter;
  std::vector<std::string> exclude;
  bool gpu = false;
  bool c_calls = false;
  bool force = false;
  uint32_t max_depth = kDefaultMaxDepth;
  bool gil = false;
  bool subprocesses = true;
  bool blocking = false;
  bool nonblocking = false;
  std::string max_stopped;
  bool detach = false;
  bool quiet = false;
};

struct RecordPlan {
  CaptureRequest request;
  std::vector<std::string> program;  // empty: request.pid runs already
  std::optional<NamedQuery> named;   // who that is has to be found out first; see FindTarget
  ExportFormat format = ExportFormat::kHtml;
  std::string output;      // "-" is standard output
  std::string headline;    // said when it begins; empty: from the request
  std::string spool_base;  // where the raw trace lies meanwhile: the output, or in TMPDIR where that is no plain file
};

// What is asked of the collector, of whoever samples (record, top). Without a pid in the options there is none in it.
Result<CaptureRequest> MakeRecordRequest(const RecordOptions& options);

Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const std::vector<std::string>& program);
// Finds the process of a plan that has but its name, and names the output after it. See FindNamed.
Result<void> FindTarget(CaptureBackend& backend, const RecordOptions& options, RecordPlan& plan);

}  // namespace ptrace_prof
