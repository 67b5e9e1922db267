#include "client/cli/record/record_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/cli/export/export_options.h"
#include "client/cli/messages.h"
#include "client/cli/record/command_status.h"
#include "client/cli/record/totals_text.h"
#include "rpc/messages/step_schedule.h"

namespace ptrace_prof {
namespace {

constexpr int kCommandNotFound = 127;  // as in shells
constexpr int kCommandNotStarted = 126;

std::string StepsText(const v1::TraceOptions& trace) {
  if (trace.steps() > 0) {
    return fmt::format("{} whole step{}, ", trace.steps(), trace.steps() == 1 ? "" : "s");
  }
  return trace.has_schedule() ? fmt::format("in the steps of {}, ", PrintStepSchedule(trace.schedule())) : "";
}

}  // namespace

RecordRun::RecordRun(CaptureBackend& backend, const RecordPlan& plan, Talk talk)
    : backend_(backend),
      plan_(plan),
      talk_(talk),
      interrupts_(plan.program.empty() ? Interrupts::Mode::kAlone : Interrupts::Mode::kWithCommand) {}

int RecordRun::Run() {
  if (const auto place = CheckPlace(plan_.output); place.has_error()) {
    return static_cast<int>(Fail(place.error(), ExitCode::kOutput));
  }
  std::optional<Result<SpoolFile>> spool(writes_to_file() ? SpoolFile::Create(plan_.spool_base)
                                                          : SpoolFile::CreateNameless(plan_.spool_base));
  if (spool->has_error()) {
    return static_cast<int>(Fail(spool->error(), ExitCode::kOutput));
  }
  if (plan_.program.empty()) {  // with a program, the interrupt is for the program
    backend_.GiveUpWhen([this] { return interrupts_.count() > 0; });
  }
  auto started = backend_.Start(plan_.task, plan_.program);
  if (started.has_error()) {
    return StartFailed(started.error());
  }
  CaptureStream& stream = *started.value();
  const ExitCode code = Capture(stream, spool->value());
  if (plan_.program.empty()) {
    return static_cast<int>(code);
  }
  spool.reset();  // removes its file now, as a signal may end this process next
  return ExitAsCommand(stream, interrupts_);
}

int RecordRun::StartFailed(const Error& error) {
  if (plan_.program.empty()) {
    return static_cast<int>(Fail(error));
  }
  Error reported = error;
  reported.message = fmt::format("cannot run {}: {}", plan_.program[0], error.message);
  if (reported.remedy.empty()) {
    reported.remedy = error.code == Code::kNotFound
                          ? "check the spelling and $PATH, or give the path of the command"
                          : "run a script that is not executable with its interpreter: -- python3 FILE";
  }
  PrintError(reported);
  return error.code == Code::kNotFound ? kCommandNotFound : kCommandNotStarted;
}

ExitCode RecordRun::Capture(CaptureStream& stream, SpoolFile& spool) {
  const bool silent = talk_ == Talk::kErrorsOnly || stream.command().value > 0;
  Progress progress(silent ? Progress::Style::kSilent : ProgressStyleForStderr(), plan_.task.spec().mode(),
                    DurationOf(plan_.task), talk_ == Talk::kErrorsOnly ? std::string() : Headline());
  TraceSpooler spooler(stream, spool, interrupts_, progress,
                       [this](std::string_view notice) { Say("note: " + std::string(notice)); });
  if (plan_.on_trace_ready) {
    trace_ready_.emplace(*plan_.on_trace_ready, spool,
                         stream.command().value > 0 ? stream.command() : TargetOf(plan_.task), plan_.output);
  }
  spooler.Run([&] { HandOver(spooler.meter(), progress); });
  FinishHandlers(spooler, progress);
  const ExitCode code = Conclude(spooler, spool);
  const bool has_failed = trace_ready_ && trace_ready_->has_failed_to_write();
  trace_ready_.reset();
  return code == ExitCode::kOk && has_failed ? ExitCode::kOutput : code;
}

// Passes on what is ready, and says what was done with it.
void RecordRun::HandOver(const TraceMeter& meter, Progress& progress) {
  if (!trace_ready_) {
    return;
  }
  while (trace_ready_->count() < meter.windows().size()) {
    trace_ready_->Add(meter.windows()[trace_ready_->count()]);
  }
  const auto notes = trace_ready_->TakeNotes();
  const auto errors = trace_ready_->TakeErrors();
  if (!notes.empty() || !errors.empty()) {
    progress.Clear();
  }
  std::ranges::for_each(notes, [this](const std::string& note) { Say(note); });
  std::ranges::for_each(errors, [](const Error& error) { PrintError(error); });
}

void RecordRun::FinishHandlers(const TraceSpooler& spooler, Progress& progress) {
  if (!trace_ready_) {
    return;
  }
  HandOver(spooler.meter(), progress);
  if (trace_ready_->count() == 0 && spooler.meter().recorded_anything()) {
    trace_ready_->Add(std::nullopt);  // no steps were asked for, or none came
  }
  trace_ready_->Finish(spooler.aborted());
  HandOver(spooler.meter(), progress);
}

ExitCode RecordRun::Conclude(const TraceSpooler& spooler, SpoolFile& spool) {
  if (spooler.aborted()) {
    PrintError({Code::kCancelled, "aborted", ""});
    KeepTrace(spool);
    return ExitCode::kAborted;
  }
  if (!spooler.meter().recorded_anything()) {
    return ConcludeWithoutSamples(spooler, spool);
  }
  if (spooler.collector_error().has_value()) {
    PrintError(*spooler.collector_error());
  }
  if (spooler.disk_error().has_value()) {
    PrintError(*spooler.disk_error());
    PrintNote("recording ended there; the trace up to then is exported");
  }
  SayTotals(spooler);
  const ExitCode exported = Export(spool);
  if (spooler.disk_error().has_value()) {
    return ExitCode::kOutput;
  }
  if (spooler.collector_error().has_value()) {
    return ExitCode::kInternal;
  }
  const auto& end = spooler.meter().end();  // the end of the target is a success
  const bool cut_short = end.has_value() && end->code != Code::kOk && end->code != Code::kGone;
  return cut_short && exported == ExitCode::kOk ? ExitCodeOf(ErrorOf(*end)) : exported;
}

ExitCode RecordRun::ConcludeWithoutSamples(const TraceSpooler& spooler, SpoolFile& spool) {
  if (spooler.disk_error().has_value()) {
    return Fail(*spooler.disk_error(), ExitCode::kOutput);
  }
  if (spooler.collector_error().has_value()) {
    return Fail(*spooler.collector_error(), ExitCode::kInternal);
  }
  const auto& end = spooler.meter().end();
  if (end.has_value() && end->code == Code::kGone) {
    return Fail({Code::kGone, "nothing was recorded: " + (end->message.empty() ? "the target ended" : end->message),
                 plan_.program.empty() ? "" : "the command never ran Python, or ended too soon"});
  }
  if (end.has_value() && end->code != Code::kOk) {
    return Fail(ErrorOf(*end));
  }
  if (plan_.task.spec().mode() == v1::MODE_TRACE) {
    PrintNote("the recording is empty: the process made no call that was to be recorded");
    SayTotals(spooler);
  } else if (!plan_.task.spec().sample().threads().empty()) {
    PrintNote(
        "the recording is empty: the threads of --threads do not exist or were not active (--idle=all also records "
        "waiting threads)");
  } else {
    PrintNote("the recording is empty: no thread was active (--idle=all also records waiting threads)");
  }
  return Export(spool);  // the trace has threads and their states, and the user asked for a file
}

void RecordRun::KeepTrace(SpoolFile& spool) {
  if (spool.size() == 0) {
    return;
  }
  if (const auto kept = spool.Keep(); kept.has_error()) {
    PrintError(kept.error());
    return;
  }
  PrintNote(fmt::format("the trace so far is in {0}; to convert it: ptrace-prof export {0} -o OUTPUT", spool.path()));
}

void RecordRun::AbortOnNextInterrupt(const SpoolFile& spool) {
  if (!spool.has_name()) {
    interrupts_.NameOnAbort(spool.fd(), spool.path());
  }
  interrupts_.AbortOnNext(
      fmt::format("aborted\nthe whole trace is in {0}; to convert it: ptrace-prof export {0} -o {1}\n", spool.path(),
                  writes_to_file() ? plan_.output : "OUTPUT"),
      static_cast<int>(ExitCode::kAborted));
}

ExitCode RecordRun::Export(SpoolFile& spool) {
  if (plan_.format == ExportFormat::kPerfetto && writes_to_file() && !IsCompressed(plan_.output)) {
    if (auto renamed = spool.RenameTo(plan_.output); renamed.has_error()) {
      PrintError(renamed.error());
      KeepTrace(spool);
      return ExitCode::kOutput;
    }
    Say(fmt::format("wrote {} (perfetto, {})", plan_.output, HumanSize(spool.size())));
    return ExitCode::kOk;
  }
  if (plan_.program.empty()) {
    AbortOnNextInterrupt(spool);
  }
  auto input = spool.OpenForReading();
  auto exported = input.has_value() ? ExportTrace(input.value().get(), {.format = plan_.format}, plan_.output)
                                    : Result<ExportSummary>(std::move(input).error());
  if (exported.has_error()) {
    PrintError(exported.error());
    KeepTrace(spool);
    return ExitCode::kOutput;
  }
  if (talk_ == Talk::kNormal) {
    ReportExport(exported.value(), plan_.output);
  }
  return ExitCode::kOk;
}

void RecordRun::Say(std::string_view text) const {
  if (talk_ == Talk::kNormal) {
    PrintNote(text);
  }
}

std::string RecordRun::Headline() const {
  if (!plan_.headline.empty()) {
    return plan_.headline;
  }
  const v1::CaptureSpec& spec = plan_.task.spec();
  const double hertz = RateOf(spec.sample());
  const std::string rate = hertz > 0 ? fmt::format("at up to {:g} Hz", hertz) : "as fast as possible";
  const Nanos duration = DurationOf(plan_.task);
  const std::string until = duration.value > 0      ? fmt::format("for {:g} s", duration.seconds())
                            : plan_.program.empty() ? "until it ends or Ctrl-C"
                                                    : "until it ends";
  const std::string what =
      plan_.program.empty() ? fmt::format("process {}", TargetOf(plan_.task).value) : plan_.program[0];
  if (spec.mode() == v1::MODE_TRACE) {
    const std::string steps = StepsText(spec.trace());
    return fmt::format("tracing every call of {}{}, {}{}", what,
                       spec.trace().c_calls() ? ", including C functions" : "", steps,
                       steps.empty() || duration.value == 0 ? until : "at most " + until);
  }
  if (spec.mode() == v1::MODE_AUTO) {
    return fmt::format("recording {}, {}", what, until);
  }
  return fmt::format("recording {} {}, {}", what, rate, until);
}

void RecordRun::SayTotals(const TraceSpooler& spooler) const {
  if (const auto& end = spooler.meter().end(); end.has_value() && end->code != Code::kOk) {
    Say(fmt::format("{}{}", end->message, end->code == Code::kGone ? "; this is what was recorded up to then" : ""));
    if (!end->remedy.empty()) {
      Say("hint: " + end->remedy);
    }
  }
  const auto& carried_out = spooler.meter().request();
  Say(ClosingLines(carried_out.has_value() ? carried_out->spec().mode() : plan_.task.spec().mode(),
                   spooler.meter().Totals()));
  for (const GpuAccounting& gpu : spooler.meter().gpu_totals()) {
    Say(GpuClosingLines(gpu));
  }
}

}  // namespace ptrace_prof
