#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/interrupts.h"
#include "client/cli/later_flags.h"
#include "client/cli/messages.h"
#include "client/cli/process_id.h"
#include "client/cli/record/spec_options.h"
#include "client/cli/top/top_blocks.h"
#include "client/cli/top/top_live.h"
#include "client/cli/top/top_text.h"
#include "rpc/messages/quantity.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kBatchInterval = Nanos::FromMillis(200);
constexpr Nanos kTextInterval = Nanos::FromSeconds(2);
constexpr Nanos kScreenInterval = Nanos::FromMillis(500);
constexpr Nanos kTopPoll = Nanos::FromMillis(100);

constexpr char kTopFooter[] =
    "Shares are of all samples of the last seconds. On the screen, `?` lists the keys.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof top --pid 4711\n"
    "  ptrace-prof top --pid 4711 --by threads --idle         threads that wait, too\n"
    "  ptrace-prof top --pid 4711 --interval 10s | tee log    plain text, a block each 10 seconds\n"
    "  ptrace-prof top --pid 4711 --count 1 --limit 5         one block, then exit\n";

constexpr TopView kViews[] = {TopView::kFunctions, TopView::kLines, TopView::kThreads, TopView::kProcesses};
constexpr TopSort kSorts[] = {TopSort::kSelf, TopSort::kTotal, TopSort::kName};

// The value in `all` with that name; the first one if `word` is empty.
template <typename T, size_t N>
Result<T> Choose(std::string_view option, const std::string& word, const T (&all)[N]) {
  std::string names;
  for (const T one : all) {
    if (word.empty() || word == NameOf(one)) {
      return one;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", NameOf(one));
  }
  return Error{Code::kInvalidArgument, fmt::format("{}: unknown value '{}'", option, word), "give one of: " + names};
}

// Waits until the target is open, so that errors appear before the screen is taken over.
Result<SampleBatch> AwaitFirst(SampleSource& source, const Interrupts& interrupts) {
  while (!source.ended() && interrupts.count() == 0) {
    PP_ASSIGN_OR_RETURN(std::optional<SampleBatch> batch, source.Next(kTopPoll));
    if (batch.has_value() && !batch->processes.empty()) {
      return std::move(*batch);
    }
  }
  if (const auto& end = source.end(); end.has_value() && end->code != Code::kOk) {
    Error error = ErrorOf(*end);
    error.message = error.message.empty() ? "the target ended" : error.message;
    return error;
  }
  return Error{Code::kCancelled, "ended before the first sample", ""};
}

class TopCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("-p,--pid", pid_, "The process to watch, with its children")->type_name("PID");
    app.add_option("-i,--interval", interval_, "Time between two updates (default: 2s for text, 0.5s on a screen)")
        ->type_name("TIME");
    app.add_option("-n,--count", count_, "Print N blocks of plain text, then exit")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000).description(""));
    app.add_option("--limit", limit_, "Rows per block of text (default: 20)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000).description(""));
    app.add_flag("--text", text_, "Plain text even on a terminal (default if the output is not a terminal)");
    app.add_option("--by", by_, "What a row is: functions (default), lines, threads, processes")->type_name("VIEW");
    app.add_option("--sort", sort_, "Sort by self (default), total or name")->type_name("COLUMN");
    app.add_option("--filter", settings_.query.filter, "Only rows whose name or file contains this")->type_name("TEXT");
    spec_.Declare(app, [](const OptionRow& row) { return row.path.starts_with("sample."); });
    DeclareLaterFlags(app);
    app.footer(kTopFooter);
  }

  int Run(const CommandContext& context) override {
    auto task = MakeTask();
    if (task.has_error()) {
      return static_cast<int>(Fail(task.error(), ExitCode::kUsage));
    }
    ::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe is an error then, and does not kill us
    const Interrupts interrupts(Interrupts::Mode::kAlone);
    const auto source = context.backend.StartSamples(task.value(), kBatchInterval);
    if (source.has_error()) {
      return static_cast<int>(Fail(source.error()));
    }
    settings_.is_of_this_machine = context.backend.is_of_this_machine();
    return static_cast<int>(Watch(*source.value(), interrupts));
  }

 private:
  Result<CaptureTask> MakeTask() {
    if (pid_.empty()) {
      return Error{Code::kInvalidArgument, "no process is given", "give --pid PID"};
    }
    CaptureTask task;
    PP_ASSIGN_OR_RETURN(*task.mutable_spec(), spec_.Read());
    PP_ASSIGN_OR_RETURN(settings_.pid, ParseTarget(pid_));
    SetTarget(settings_.pid, &task);
    task.mutable_spec()->set_gpu_counters(v1::GPU_COUNTERS_OFF);  // top does not show them
    PP_ASSIGN_OR_RETURN(settings_.query.view, Choose("--by", by_, kViews));
    PP_ASSIGN_OR_RETURN(settings_.query.sort, Choose("--sort", sort_, kSorts));
    if (!interval_.empty()) {
      PP_ASSIGN_OR_RETURN(settings_.interval, ParseDuration(interval_, "leave it out for the default"));
    }
    settings_.limit = limit_;
    settings_.count = count_;
    return task;
  }

  ExitCode Watch(SampleSource& source, const Interrupts& interrupts) {
    auto first = AwaitFirst(source, interrupts);
    if (first.has_error()) {
      return interrupts.count() > 0 ? ExitCode::kOk : Fail(first.error());
    }
    const Result<void> shown = Show(source, first.value(), interrupts);
    source.Stop();
    if (shown.has_error()) {
      return Fail(shown.error(),
                  shown.error().code == Code::kResourceExhausted ? ExitCode::kOutput : ExitCodeOf(shown.error()));
    }
    if (const auto& end = source.end(); end.has_value() && end->code != Code::kOk) {
      PrintNote(end->message.empty() ? "the target ended" : end->message);
    }
    return ExitCode::kOk;
  }

  Result<void> Show(SampleSource& source, const SampleBatch& first, const Interrupts& interrupts) {
    if (::isatty(STDOUT_FILENO) == 1 && !text_ && count_ == 0) {
      settings_.interval = interval_.empty() ? kScreenInterval : settings_.interval;
      if (auto screen = TopScreen::Open(); screen.has_value()) {
        return RunTopLive(*screen.value(), source, first, settings_, interrupts);
      } else {
        PrintWarning(
            {screen.error().code, screen.error().message + "; using plain text instead", screen.error().remedy});
      }
    }
    settings_.interval = interval_.empty() ? kTextInterval : settings_.interval;
    return PrintTopBlocks(source, first, settings_, interrupts);
  }

  SpecOptions spec_;
  std::string pid_;
  TopSettings settings_;
  std::string interval_;
  std::string by_;
  std::string sort_;
  uint64_t count_ = 0;
  uint64_t limit_ = 20;
  bool text_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace ptrace_prof
