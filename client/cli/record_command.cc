#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/export_options.h"
#include "client/cli/later_flags.h"
#include "client/cli/messages.h"
#include "client/cli/record_detached.h"
#include "client/cli/record_plan.h"
#include "client/cli/record_run.h"
#include "client/cli/sampling_options.h"
#include "client/cli/step_options.h"

namespace ptrace_prof {
namespace {

constexpr char kFooter[] =
    "The default of 100 Hz gives 3,000 samples of a thread in 30 seconds. For each the thread that runs is stopped for "
    "some tens of\n"
    "microseconds, threads that wait are read as they stand; the last lines say how long stops took. --max-stopped "
    "and\n"
    "--max-overhead have the rate go down, and the last lines say which of them did. A higher rate shows shorter work "
    "sooner,\n"
    "not truer shares.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof record --pid 4711                          until Ctrl-C; then writes a web page\n"
    "  ptrace-prof record --pid 4711 -d 30s -o run.svg\n"
    "  ptrace-prof record -d 5 --format text --pid 4711       a table, on standard output\n"
    "  ptrace-prof record --name 'train\\.py' --wait -d 1m   the next one that starts, or the one that runs\n"
    "  ptrace-prof record -o run.pftrace -- torchrun --nproc-per-node 8 train.py\n"
    "\n"
    "A command gets the terminal, and its Ctrl-C; recording goes on until it ends, and we exit as it did. A second\n"
    "Ctrl-C stops recording before the command ends. With --pid the first Ctrl-C ends the recording, the second "
    "aborts.\n";

class RecordCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    RecordOptions& o = options_;
    sampling_.DeclarePid(app, "The process to record, with its children");
    app.add_option("-n,--name", o.name,
                   "Instead: the process whose command line this extended regular expression matches")
        ->type_name("PATTERN");
    wait_ = app.add_option("--wait", o.wait,
                           "With --name: wait for it to appear, at most TIME where that is given; with --active: steps "
                           "that are not recorded, in each cycle (default: 0)")
                ->type_name("TIME")
                ->expected(0, 1);
    app.add_option("-d,--duration", o.duration, "How long: 10, 10s, 2m, 1h (default: until Ctrl-C or its end)")
        ->type_name("TIME");
    sampling_.DeclareRate(app);
    app.add_option("-o,--output", o.output, "Where to write (default: ptrace-prof-PID-TIME.html)")->type_name("FILE");
    app.add_option("-f,--format", o.format, FormatHelp())->type_name("FORMAT");
    sampling_.DeclareChoice(app);
    DeclareCalls(app);
    DeclareGpu(app);
    app.add_flag("--force", o.force,
                 "With --mode trace or --gpu: even where the process, or its GPU, is better left alone");
    app.get_option("--max-overhead")
        ->description(
            "CPU that we may use, of one core (default: 1%); off: no limit. With --mode trace: what it may cost "
            "the process (default: off; with --mode auto 5%)");
    app.add_option("--max-depth", o.max_depth,
                   "Frames of a stack that are kept (default: 4096; where calls are traced at least 32768)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000).description(""));
    app.add_flag("--detach", o.detach,
                 "Leave it to the daemon: print the ID of the capture and return (see `ptrace-prof captures`)");
    app.add_flag("-q,--quiet", o.quiet, "Say nothing but errors");
    DeclareLaterFlags(app);
    app.footer(kFooter);
  }

  int Run(const CommandContext& context) override {
    sampling_.Finish();
    options_.is_waiting = wait_->count() > 0;
    auto plan = MakeRecordPlan(options_, context.program);
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
      return RecordDetached(context.backend, plan.value().request, options_.quiet);
    }
    RecordRun run(context.backend, plan.value(), options_.quiet ? Talk::kErrorsOnly : Talk::kNormal);
    return run.Run();
  }

 private:
  void DeclareCalls(CLI::App& app) {
    RecordOptions& o = options_;
    app.add_option(
           "--mode", o.mode,
           "sample (default): looks at the stacks; trace: every call and return, exactly; auto: trace, else sample")
        ->type_name("MODE");
    app.add_flag("--c-calls", o.c_calls, "With --mode trace: calls of C functions too");
    app.add_option("--buffer", o.buffer, "With --mode trace: memory shared with the process (default: 64M)")
        ->type_name("SIZE");
    app.add_option("--min-duration", o.min_duration, "With --mode trace: leave out calls that take less: 10us, 1ms")
        ->type_name("TIME");
    DeclareStepOptions(app, o);
    app.add_option("--on-full", o.on_full,
                   "With --mode trace, when that is full: drop (default; counted, shown as a gap), throttle (the "
                   "process waits, all its Python threads with it; counted, shown) or stop")
        ->type_name("WHAT");
    app.add_option("--filter", o.filter, "With --mode trace: only functions that GLOB matches; may be repeated")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("--exclude", o.exclude, "With --mode trace: leave out functions that GLOB matches; may be repeated")
        ->type_name("GLOB")
        ->allow_extra_args(false);
  }

  void DeclareGpu(CLI::App& app) {
    RecordOptions& o = options_;
    app.add_flag("--gpu", o.gpu,
                 "The GPU too (CUDA): kernels, copies and waits, with the Python code that launched them");
    app.add_option("--gpu-detail", o.gpu_detail, "The same: coarse (kernels only), default, or full (events too)")
        ->type_name("LEVEL");
    app.add_option("--gpu-counters", o.gpu_counters,
                   "How busy the machine's NVIDIA GPUs are, beside the rest: auto (default: where there are some), on "
                   "(says why where there are none), off")
        ->type_name("WHICH");
  }

  RecordOptions options_;
  SamplingOptions sampling_{options_};
  const CLI::Option* wait_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeRecordCommand() { return std::make_unique<RecordCommand>(); }

}  // namespace ptrace_prof
