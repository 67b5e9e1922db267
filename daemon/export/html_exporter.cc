#include "daemon/export/format_exporter.h"
namespace ptrace_prof { std::unique_ptr<FormatExporter> MakeHtmlExporter(ExportContext c) { return MakeTextExporter(std::move(c)); } }
