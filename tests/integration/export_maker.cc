// Writes synthetic traces in every format: export_maker FOLDER
#include <fcntl.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "attach/base/unique_fd.h"
#include "daemon/export/exporter.h"
#include "tests/unit/daemon/export/sample_trace.h"

namespace ptrace_prof {
namespace {

int WriteAll(const std::string& folder) {
  const std::pair<std::string, std::string> traces[] = {{"sample", SampleTrace()},
                                                        {"calls", CallTrace()},
                                                        {"hostile", HostileTrace()},
                                                        {"gpu", GpuTrace()},
                                                        {"long", LongTrace(60)}};
  for (const auto& [name, trace] : traces) {
    const std::string path = fmt::format("{}/{}.trace", folder, name);
    std::ofstream(path, std::ios::binary) << trace;
    for (const FormatInfo& info : ExportFormats()) {
      if (info.format == ExportFormat::kExecutionTrace) {
        continue;  // these traces have none
      }
      const UniqueFd input(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      const auto result = ExportTrace(input.get(), {}, fmt::format("{}/{}{}", folder, name, info.extensions.front()));
      if (result.has_error()) {
        std::cerr << name << " as " << info.name << ": " << result.error().message << "\n";
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) { return argc == 2 ? ptrace_prof::WriteAll(argv[1]) : 2; }
