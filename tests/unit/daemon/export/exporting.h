// For tests of daemon/export: runs a trace in memory through ExportTrace into a string.
#pragma once

#include <string>
#include <vector>

#include "daemon/export/exporter.h"

namespace ptrace_prof {

// A folder that is removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  size_t FileCount() const;

 private:
  std::string path_;
};

struct Exported {
  Result<ExportSummary> result;
  std::string bytes;  // of the output; empty after an error
};

Exported Export(const std::string& trace, ExportFormat format, ExportOptions options = {});
Result<ExportSummary> ExportTo(const std::string& trace, const ExportOptions& options, const std::string& path);
std::string ReadFile(const std::string& path);
std::string Decompress(const std::string& bytes);  // "not gzip" if it is none, or truncated
// The part that is comparable between runs and readable in a diff: decompressed, without the viewer and its nonce.
// All but the format that needs an execution trace.
std::vector<FormatInfo> FormatsOfAnyTrace();
// Whether the format shows what threads ran.
inline bool ShowsStacks(const FormatInfo& info) { return info.format != ExportFormat::kMemoryTimeline; }
std::string Essence(ExportFormat format, const std::string& bytes);

}  // namespace ptrace_prof
