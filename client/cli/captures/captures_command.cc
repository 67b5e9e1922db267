#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <utility>

#include "attach/base/wall_clock.h"
#include "client/cli/captures/capture_actions.h"
#include "client/cli/captures/capture_choice.h"
#include "client/cli/captures/captures_text.h"
#include "client/cli/command.h"
#include "client/cli/export/export_options.h"
#include "client/cli/messages.h"
#include "client/cli/record/record_run.h"
#include "client/cli/subcommands.h"
#include "client/remote/capture_client.h"
#include "client/remote/sample_source.h"

namespace ptrace_prof {
namespace {

constexpr char kCapturesFooter[] =
    "A daemon's capture continues after the command that started it has ended, and the daemon keeps its trace. An ID\n"
    "may be shortened to its first characters while these are unique.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof record --detach --pid 4711 -d 10m          starts one and prints its ID\n"
    "  ptrace-prof captures list\n"
    "  ptrace-prof captures watch c3f\n"
    "  ptrace-prof captures fetch c3f -o run.html --follow    waits until it ends\n"
    "  ptrace-prof captures cancel c3f\n"
    "  ptrace-prof captures delete c3f\n";

// A backend that, whatever is started, reads the trace of one existing capture.
class FetchBackend : public CaptureBackend {
 public:
  FetchBackend(CaptureClient& client, std::string name, FetchMode mode)
      : client_(client), name_(std::move(name)), mode_(mode) {}
  Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask&, const std::vector<std::string>&) override {
    return client_.Fetch(name_, mode_);
  }
  Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask&, Nanos) override {
    return Error{Code::kUnimplemented, "a kept trace has no live samples", ""};
  }

 private:
  CaptureClient& client_;
  const std::string name_;
  const FetchMode mode_;
};

class CapturesCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.footer(kCapturesFooter);
    CLI::App& list = actions_.Add(app, "list", "List your captures, newest first", &CapturesCommand::List);
    CLI::App& watch =
        actions_.Add(app, "watch", "Print the progress of a capture until it ends", &CapturesCommand::Watch);
    CLI::App& cancel = actions_.Add(app, "cancel", "Cancel a capture; its trace is kept", &CapturesCommand::Cancel);
    CLI::App& discard = actions_.Add(app, "delete", "Delete an ended capture and its trace", &CapturesCommand::Delete);
    CLI::App& fetch = actions_.Add(app, "fetch", "Write what a capture recorded to a file", &CapturesCommand::Fetch);
    for (CLI::App* one : {&watch, &cancel, &discard, &fetch}) {
      one->add_option("id", id_, "ID of the capture, or its first characters")->required()->type_name("ID");
    }
    for (CLI::App* shown : {&list, &watch}) {
      shown->add_flag("-j,--json", json_, "As JSON (its schema is in docs/cli.md)");
    }
    discard.add_flag("--force", force_, "Also delete a running capture: cancel it first");
    fetch.add_option("-o,--output", output_.output, "Where to write (default: ptrace-prof-PID-TIME.html)")
        ->type_name("FILE");
    fetch.add_option("-f,--format", output_.format, FormatHelp())->type_name("FORMAT");
    fetch.add_flag("--follow", follow_, "Wait until it ends (default: write what it has recorded so far)");
    fetch.add_flag("-q,--quiet", output_.quiet, "Print only errors");
  }

  int Run(const CommandContext& context) override {
    const auto client = context.backend.Captures();
    if (client.has_error()) {
      return static_cast<int>(Fail(client.error()));
    }
    client_ = client.value();
    return actions_.Run(*this);
  }

 private:
  Result<RemoteCapture> Chosen() {
    PP_ASSIGN_OR_RETURN(const auto captures, client_->List());
    return ChooseCapture(captures, id_);
  }

  Result<ExitCode> List() { return ListCaptures(*client_, json_ ? ListForm::kJson : ListForm::kTable); }

  Result<ExitCode> Watch() {
    PP_ASSIGN_OR_RETURN(RemoteCapture last, Chosen());
    ExitCode printed = ExitCode::kOk;
    bool is_lost = false;
    size_t reported = 0;
    const auto show = [&](const RemoteCapture& capture) {
      if (std::exchange(is_lost, false)) {
        PrintNote("connected again");
      }
      last = capture;
      for (; !json_ && reported < capture.notices.size(); ++reported) {
        PrintNote("note: " + capture.notices[reported]);
      }
      printed = PrintOut(json_ ? CaptureJsonLine(capture) : EventLine(capture, RealtimeNow()));
      return printed == ExitCode::kOk;
    };
    const auto lost = [&](const std::string& why, Nanos pause) {
      const char* what = std::exchange(is_lost, true) ? "no answer yet" : "the connection to the daemon is lost";
      PrintNote(fmt::format("{} ({}); trying again in {:g} s", what, why, pause.seconds()));
    };
    PP_RETURN_IF_ERROR(client_->Watch(last.name, show, lost));
    if (printed != ExitCode::kOk) {
      return printed;
    }
    if (last.error.has_value()) {
      return Fail(*last.error);
    }
    return last.state == RemoteState::kCancelled ? ExitCode::kAborted : ExitCode::kOk;
  }

  Result<ExitCode> Cancel() {
    PP_ASSIGN_OR_RETURN(const RemoteCapture capture, Chosen());
    return CancelCapture(*client_, capture);
  }

  Result<ExitCode> Delete() {
    PP_ASSIGN_OR_RETURN(const RemoteCapture capture, Chosen());
    if (const auto deleted = client_->Delete(capture.name, force_ ? DeleteMode::kForce : DeleteMode::kEndedOnly);
        deleted.has_error()) {
      const bool goes_on = deleted.error().code == Code::kFailedPrecondition;
      return goes_on ? Fail(Because(Reason::kCaptureNotEnded, fmt::format("capture {} is still running", capture.id()),
                                    fmt::format("cancel it first (ptrace-prof captures cancel {}), or delete it with "
                                                "--force",
                                                capture.id())),
                            ExitCode::kUsage)
                     : Fail(deleted.error());
    }
    PrintNote(fmt::format("deleted {}", capture.id()));
    return ExitCode::kOk;
  }

  Result<ExitCode> Fetch() {
    PP_ASSIGN_OR_RETURN(const RemoteCapture capture, Chosen());
    if (capture.trace_bytes == 0 && capture.error.has_value()) {
      return *capture.error;
    }
    if (capture.trace_bytes == 0 && !follow_) {
      return Error{Code::kGone,
                   fmt::format("capture {} has recorded nothing{}", capture.id(), capture.has_ended() ? "" : " yet"),
                   capture.has_ended() ? "" : "--follow waits for it"};
    }
    output_.pid = std::to_string(capture.pid.value);
    PP_ASSIGN_OR_RETURN(RecordPlan plan, MakeRecordPlan(output_, {}, {}));
    plan.headline = fmt::format("fetching capture {} of process {}{}", capture.id(), capture.pid.value,
                                follow_ && !capture.has_ended() ? ", until it ends or Ctrl-C" : "");
    FetchBackend backend(*client_, capture.name, follow_ ? FetchMode::kFollow : FetchMode::kUntilNow);
    const int status = RecordRun(backend, plan, output_.quiet ? Talk::kErrorsOnly : Talk::kNormal).Run();
    if (!capture.has_ended() && !follow_ && !output_.quiet) {
      PrintNote(fmt::format("capture {} is still running: this is what it has recorded so far", capture.id()));
    }
    return static_cast<ExitCode>(status);
  }

  Subcommands<CapturesCommand> actions_;
  CaptureClient* client_ = nullptr;
  std::string id_;
  RecordOptions output_;
  bool json_ = false;
  bool force_ = false;
  bool follow_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCapturesCommand() { return std::make_unique<CapturesCommand>(); }

}  // namespace ptrace_prof
