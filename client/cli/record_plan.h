// What one `record` is to do, put together from its options and checked: the request, the program to start if any,
// the output and its format. Pure apart from the clock and the look at what the output path is.
#pragma once

#include <string>
#include <vector>

#include "attach/base/result.h"
#include "daemon/export/exporter.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {

// As written on the command line; empty where nothing was.
struct RecordOptions {
  std::string pid;
  std::string duration;
  std::string rate;
  std::string format;
  std::string output;
  std::string threads;
  std::string idle;
  std::string max_overhead;
  uint32_t max_depth = kDefaultMaxDepth;
  bool gil = false;
  bool subprocesses = true;
  bool blocking = false;
  bool no_stops = false;
  bool detach = false;
  bool quiet = false;
};

struct RecordPlan {
  CaptureRequest request;
  std::vector<std::string> program;  // empty: request.pid runs already
  ExportFormat format = ExportFormat::kHtml;
  std::string output;      // "-" is standard output
  std::string headline;    // said when it begins; empty: from the request
  std::string spool_base;  // where the raw trace lies meanwhile: the output, or in TMPDIR where that is no plain file
};

// What is asked of the collector, of whoever samples (record, top). Without a pid in the options there is none in it.
Result<CaptureRequest> MakeRecordRequest(const RecordOptions& options);

Result<RecordPlan> MakeRecordPlan(const RecordOptions& options, const std::vector<std::string>& program);

}  // namespace ptrace_prof
