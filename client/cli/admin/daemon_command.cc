#include <CLI/CLI.hpp>
#include <algorithm>

#include "client/cli/admin/audit_view.h"
#include "client/cli/admin/daemon_text.h"
#include "client/cli/captures/capture_actions.h"
#include "client/cli/captures/capture_choice.h"
#include "client/cli/command.h"
#include "client/cli/messages.h"
#include "client/cli/subcommands.h"

namespace ptrace_prof {
namespace {

constexpr char kDaemonFooter[] =
    "Root can see and cancel the captures of all users; other users only their own.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof daemon status\n"
    "  sudo ptrace-prof daemon captures                   of all users\n"
    "  sudo ptrace-prof daemon cancel --all               before the machine goes down\n"
    "  sudo ptrace-prof daemon audit --since 1h --outcome refused\n";

class DaemonCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.footer(kDaemonFooter);
    CLI::App& status =
        actions_.Add(app, "status", "Show its settings, its uptime and what it stores", &DaemonCommand::Status);
    CLI::App& captures =
        actions_.Add(app, "captures", "List the captures that you may see, newest first", &DaemonCommand::List);
    CLI::App& cancel = actions_.Add(app, "cancel", "Cancel captures; their traces are kept", &DaemonCommand::Cancel);
    CLI::App& audit = actions_.Add(
        app, "audit", "Show which requests were allowed and refused, by user (same as `audit`)", &DaemonCommand::Audit);
    for (CLI::App* shown : {&status, &captures}) {
      shown->add_flag("-j,--json", json_, "As JSON (its schema is in docs/cli.md)");
    }
    CLI::Option* ids = cancel.add_option("id", ids_, "IDs of captures, or their first characters")->type_name("ID");
    cancel.add_flag("--all", all_, "All running captures that you may see")->excludes(ids);
    view_.Declare(audit);
  }

  int Run(const CommandContext& context) override {
    context_ = &context;
    return actions_.Run(*this);
  }

 private:
  Result<ExitCode> Status() {
    PP_ASSIGN_OR_RETURN(const RemoteDaemon daemon, context_->backend.Daemon());
    return PrintOut(json_ ? DaemonJson(daemon) : DaemonText(daemon));
  }

  Result<ExitCode> List() {
    PP_ASSIGN_OR_RETURN(CaptureClient* const client, context_->backend.Captures());
    return ListCaptures(*client, json_ ? ListForm::kJson : ListForm::kTable);
  }

  Result<std::vector<RemoteCapture>> Chosen(CaptureClient& client) const {
    PP_ASSIGN_OR_RETURN(auto captures, client.List());
    if (all_) {
      std::erase_if(captures, [](const RemoteCapture& capture) { return capture.has_ended(); });
      return captures;
    }
    std::vector<RemoteCapture> chosen;
    for (const std::string& id : ids_) {
      PP_ASSIGN_OR_RETURN(chosen.emplace_back(), ChooseCapture(captures, id));
    }
    return chosen;
  }

  Result<ExitCode> Cancel() {
    if (ids_.empty() && !all_) {
      return Error{Code::kInvalidArgument, "the ID of a capture is missing",
                   "`ptrace-prof daemon captures` lists them; --all cancels all"};
    }
    PP_ASSIGN_OR_RETURN(CaptureClient* const client, context_->backend.Captures());
    PP_ASSIGN_OR_RETURN(const auto chosen, Chosen(*client));
    if (chosen.empty()) {
      PrintNote("no capture is running");
    }
    ExitCode worst = ExitCode::kOk;
    for (const RemoteCapture& capture : chosen) {  // a failure does not keep the others from being cancelled
      if (const auto cancelled = CancelCapture(*client, capture); cancelled.has_error()) {
        worst = Fail(cancelled.error());
      }
    }
    return worst;
  }

  Result<ExitCode> Audit() { return view_.Show(context_->backend); }

  Subcommands<DaemonCommand> actions_;
  const CommandContext* context_ = nullptr;
  AuditView view_;
  std::vector<std::string> ids_;
  bool json_ = false;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDaemonCommand() { return std::make_unique<DaemonCommand>(); }

}  // namespace ptrace_prof
