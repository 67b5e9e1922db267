#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "attach/base/reason.h"
#include "attach/base/unique_fd.h"
#include "client/cli/command.h"
#include "client/cli/export/export_file.h"
#include "client/cli/export/export_options.h"
#include "client/cli/messages.h"
#include "client/cli/process_id.h"

namespace ptrace_prof {
namespace {

class ExportCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("trace", input_, "The trace: a .pftrace file, or - for standard input")->required();
    app.add_option("-o,--output", output_,
                   "Where to write; - is standard output (default: - for text, else beside the trace)");
    app.add_option("-f,--format", format_, FormatHelp());
    app.add_option("--threads", threads_, "Only these threads, by id or name")->delimiter(',');
    app.add_option("--pids", pids_, "Only these processes")->delimiter(',');
    app.add_option("--report", report_,
                   "Only this table, as text: kernels, stacks (Python) or modules (nn.Module), each with its GPU time; "
                   "or ranges (NVTX)")
        ->type_name("WHAT");
    app.add_flag("--no-idle", options_.no_idle, "Leave out samples of threads that were idle");
    app.add_flag("--lines", lines_, "Split functions by line (default: depends on the format)");
    app.add_flag("--no-lines", no_lines_, "Do not split functions by line")->excludes("--lines");
    app.add_option("--title", options_.title, "Title of the page or picture (default: the command line)");
    app.add_option("--meta", options_.metadata,
                   "Shown in the output, in place of what the recording says of KEY; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.footer(
        "Examples:\n  ptrace-prof export run.pftrace -o run.html\n"
        "  ptrace-prof export run.pftrace --format text | less\n"
        "  zstdcat run.pftrace.zst | ptrace-prof export - -o run.svg\n");
  }

  int Run(const CommandContext&) override {
    if (auto prepared = Prepare(); prepared.has_error()) {
      return static_cast<int>(Fail(prepared.error()));
    }
    return static_cast<int>(ExportFile(input_, options_, output_));
  }

 private:
  Result<void> Prepare() {
    for (const std::string& text : pids_) {
      PP_ASSIGN_OR_RETURN(const Pid pid, ParsePid(text));
      options_.processes.push_back(pid);
    }
    options_.threads = threads_;
    if (!report_.empty()) {
      PP_ASSIGN_OR_RETURN(options_.report, ParseGpuReport(report_));
    }
    if (lines_ || no_lines_) {
      options_.lines = lines_;
    }
    PP_ASSIGN_OR_RETURN(options_.format, ChooseFormat(format_.empty() && output_.empty() ? "text" : format_, output_));
    const FormatInfo& info = InfoOf(*options_.format);
    if (output_.empty()) {
      output_ = info.for_terminals || input_ == "-" ? "-" : WithExtension(input_, info);
    }
    if (output_ == "-" && !info.for_terminals && ::isatty(STDOUT_FILENO) == 1) {
      return Error{Code::kInvalidArgument, fmt::format("{} is not for a terminal", info.name),
                   "name a file with -o, or redirect the output"};
    }
    return {};
  }

  std::string input_;
  std::string output_;
  std::string format_;
  std::string report_;
  std::vector<std::string> threads_;
  std::vector<std::string> pids_;
  bool lines_ = false;
  bool no_lines_ = false;
  ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() { return std::make_unique<ExportCommand>(); }

}  // namespace ptrace_prof
