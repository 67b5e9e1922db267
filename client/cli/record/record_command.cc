#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/export/export_options.h"
#include "client/cli/later_flags.h"
#include "client/cli/messages.h"
#include "client/cli/record/record_detached.h"
#include "client/cli/record/record_plan.h"
#include "client/cli/record/record_run.h"
#include "client/cli/record/spec_options.h"

namespace ptrace_prof {
namespace {

constexpr char kRecordFooter[] =
    "The default of 100 Hz gives 3,000 samples of a thread in 30 seconds. For each sample, a running thread is\n"
    "stopped for some tens of microseconds; a waiting thread is not stopped. The last lines say how long the stops\n"
    "took. The rate is lowered to keep to --max-stopped and --max-overhead; the last lines say which limit was\n"
    "reached. A higher rate shows short work sooner, but shares do not become more accurate.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof record --pid 4711                          until Ctrl-C; then writes a web page\n"
    "  ptrace-prof record --pid 4711 -d 30s -o run.svg\n"
    "  ptrace-prof record -d 5 --format text --pid 4711       a table, on standard output\n"
    "  ptrace-prof record --name 'train\\.py' --wait -d 1m   the next one that starts, or the one that runs\n"
    "  ptrace-prof record -o run.pftrace -- torchrun --nproc-per-node 8 train.py\n"
    "\n"
    "A command gets the terminal and its Ctrl-C. It is recorded until it ends; then ptrace-prof exits with its\n"
    "status. A second Ctrl-C stops recording before the command ends. With --pid, the first Ctrl-C ends the recording\n"
    "and the second one aborts.\n";

class RecordCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    RecordOptions& o = options_;
    app.add_option("-p,--pid", o.pid, "The process to record, with its children")->type_name("PID");
    app.add_option("-n,--name", o.name,
                   "Instead of --pid: the process whose command line matches this extended regular expression")
        ->type_name("PATTERN");
    wait_ = app.add_option("--wait", o.wait,
                           "With --name: wait for the process to appear, at most TIME if given; with --active: steps "
                           "to wait in each cycle (default: 0)")
                ->type_name("TIME")
                ->expected(0, 1);
    app.add_option("-o,--output", o.output, "Where to write (default: ptrace-prof-PID-TIME.html)")->type_name("FILE");
    app.add_option("-f,--format", o.format, FormatHelp())->type_name("FORMAT");
    app.add_option(
           "--on-trace-ready", o.on_trace_ready,
           "As soon as the active steps of a cycle are over: tensorboard:FOLDER (or tensorboard-gz:FOLDER) writes "
           "them there as a file of their own, in PyTorch's JSON; exec:COMMAND runs a program with its path; may "
           "be repeated")
        ->type_name("WHAT")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    spec_.Declare(app, [](const OptionRow&) { return true; });
    app.add_flag("--detach", o.detach,
                 "Let the daemon record: print the ID of the capture and return (see `ptrace-prof captures`)");
    app.add_flag("-q,--quiet", o.quiet, "Print only errors");
    DeclareLaterFlags(app);
    app.footer(kRecordFooter);
  }

  int Run(const CommandContext& context) override {
    auto plan = MakePlan(context.program);
    if (plan.has_error()) {
      return static_cast<int>(Fail(plan.error()));
    }
    if (const auto place = CheckPlace(options_.output); !options_.output.empty() && place.has_error()) {
      return static_cast<int>(Fail(place.error(), ExitCode::kOutput));  // before anything is waited for
    }
    if (auto found = FindTarget(context.backend, options_, plan.value()); found.has_error()) {
      return static_cast<int>(Fail(found.error()));
    }
    if (options_.detach) {
      return RecordDetached(context.backend, plan.value().task, options_.quiet);
    }
    RecordRun run(context.backend, plan.value(), options_.quiet ? Talk::kErrorsOnly : Talk::kNormal);
    return run.Run();
  }

 private:
  Result<RecordPlan> MakePlan(const std::vector<std::string>& program) {
    PP_RETURN_IF_ERROR(ReadWait(wait_->count() > 0, options_, spec_));
    PP_ASSIGN_OR_RETURN(const v1::CaptureSpec spec, spec_.Read());
    return MakeRecordPlan(options_, spec, program);
  }

  RecordOptions options_;
  SpecOptions spec_;
  const CLI::Option* wait_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeRecordCommand() { return std::make_unique<RecordCommand>(); }

}  // namespace ptrace_prof
