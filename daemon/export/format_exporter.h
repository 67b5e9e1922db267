// The interface of an output format: takes spans while the trace is read, and writes the rest when the trace has ended.
//
// Each format is one subclass in a file of its own (<format>_exporter.cc); formats.inc lists them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/export/exporter.h"
#include "daemon/export/gpu_sink.h"
#include "daemon/export/output.h"
#include "daemon/export/recording.h"
#include "daemon/export/span.h"

namespace ptrace_prof {

// What an exporter works with; everything outlives the exporter.
struct ExportContext {
  Output& out;
  const StackTable& stacks;
  const Recording& recording;
  const ExportOptions& options;
  std::string temporary_folder;
  std::vector<std::string>& notes;
  std::string output_path;
};

class FormatExporter : public SpanSink, public GpuSink {
 public:
  // The trace has ended; `context.recording` is complete.
  virtual Result<void> Finish() = 0;
};

// For ExportOptions::table.
std::unique_ptr<FormatExporter> MakeOperatorTable(ExportContext context);
std::unique_ptr<FormatExporter> MakeTensorTable(ExportContext context);

#define PP_FORMAT(Format, ...) std::unique_ptr<FormatExporter> Make##Format##Exporter(ExportContext context);
#define PP_COPY(Format, ...)
#include "daemon/export/formats.inc"

}  // namespace ptrace_prof
