// Tables of GPU time for the terminal: what the text format shows about GPUs, in full or as one --report.
//
// Made when the trace has ended; owns nothing.
#pragma once

#include "daemon/export/format_exporter.h"
#include "daemon/export/gpu_totals.h"

namespace ptrace_prof {

class GpuTables {
 public:
  GpuTables(GpuTotals& totals, FunctionTable& functions, const ExportContext& context)
      : totals_(totals), functions_(functions), context_(context) {}

  void Write(GpuReport report);
  void WriteAll();  // the first rows of each table; nothing if there was no GPU

 private:
  void WriteDevices();
  void WriteKernels(size_t limit);
  void WriteStacks(size_t limit);
  void WriteRanges(size_t limit);
  void WriteFunctions(const std::vector<GpuFunctionRow>& rows, std::string_view what, size_t limit);
  void WriteMore(size_t rows, size_t limit);
  std::string Share(Nanos part) const;

  GpuTotals& totals_;
  FunctionTable& functions_;
  const ExportContext& context_;
};

}  // namespace ptrace_prof
