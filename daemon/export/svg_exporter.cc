#include "daemon/export/format_exporter.h"
namespace ptrace_prof { std::unique_ptr<FormatExporter> MakeSvgExporter(ExportContext c) { return MakeTextExporter(std::move(c)); } }
