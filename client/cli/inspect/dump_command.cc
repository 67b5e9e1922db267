#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/inspect/answer_stream.h"
#include "client/cli/inspect/dump_json.h"
#include "client/cli/inspect/dump_text.h"
#include "client/cli/later_flags.h"
#include "client/cli/messages.h"
#include "client/cli/process_id.h"
#include "daemon/trace/read/thread_dump.h"
#include "daemon/trace/read/trace_meter.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kDumpPatience = Nanos::FromSeconds(30);

constexpr char kDumpFooter[] =
    "The process is not stopped, but a thread may be stopped briefly when its stack cannot be read reliably.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof dump --pid 4711\n"
    "  ptrace-prof dump --pid 4711 --locals\n"
    "  ptrace-prof dump --pid 4711 --json | jq '.processes[].threads[] | select(.holds_gil)'\n";

class DumpCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("-p,--pid", pid_, "The process to inspect")->type_name("PID")->required();
    app.add_flag("-l,--locals", locals_, "Also print arguments and local variables");
    app.add_flag("-j,--json", json_, "As JSON (its schema is in docs/cli.md)");
    app.add_flag("--no-group", no_group_, "Print every thread, even when several do the same");
    app.add_flag("--subprocesses", subprocesses_, "Also inspect its child processes");
    app.add_flag("--blocking", blocking_,
                 "Stop the whole process while its stacks are read, so that all show the same instant");
    app.add_flag("--nonblocking,--no-stops", nonblocking_,
                 "Stop no thread (default: stop a running thread for some tens of microseconds)");
    DeclareLaterFlags(app);
    app.footer(kDumpFooter);
  }

  int Run(const CommandContext& context) override {
    const Result<ExitCode> done = Dump(context.backend);
    return static_cast<int>(done.has_error() ? Fail(done.error()) : done.value());
  }

 private:
  Result<ExitCode> Dump(CaptureBackend& backend) {
    if (blocking_ && nonblocking_) {
      return Error{Code::kInvalidArgument, "--blocking stops the process, but --nonblocking forbids any stop",
                   "leave one of them out"};
    }
    v1::DumpStacksRequest wanted;
    wanted.set_locals(locals_);
    wanted.set_no_subprocesses(!subprocesses_);
    wanted.set_blocking(blocking_);
    wanted.set_nonblocking(nonblocking_);
    PP_ASSIGN_OR_RETURN(const Pid pid, ParseTarget(pid_));
    wanted.mutable_target()->set_pid(pid.value);
    PP_ASSIGN_OR_RETURN(const CaptureTask task, TaskFrom(wanted));
    PP_ASSIGN_OR_RETURN(const auto stream, backend.Start(task, {}));
    ThreadDump dump;
    TraceMeter meter;
    const auto feed = [&](std::span<const std::byte> part) -> Result<void> {
      PP_RETURN_IF_ERROR(dump.Feed(part));
      return meter.Feed(part);
    };
    PP_RETURN_IF_ERROR(ReadAnswer(*stream, kDumpPatience, feed));
    for (const std::string& notice : meter.notices()) {
      PrintNote("note: " + notice);
    }
    const std::vector<DumpedProcess> processes = dump.Processes();
    if (processes.empty() && dump.end().has_value() && dump.end()->code != Code::kOk) {
      return ErrorOf(*dump.end());
    }
    const Grouping grouping = no_group_ ? Grouping::kNone : Grouping::kSameStacks;
    const std::string text = json_ ? DumpJson(processes) : DumpText(processes, grouping);
    return PrintOut(text);
  }

  std::string pid_;
  bool locals_ = false;
  bool subprocesses_ = false;
  bool json_ = false;
  bool no_group_ = false;
  bool blocking_ = false;
  bool nonblocking_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDumpCommand() { return std::make_unique<DumpCommand>(); }

}  // namespace ptrace_prof
