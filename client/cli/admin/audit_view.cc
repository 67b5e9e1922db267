#include "client/cli/admin/audit_view.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "attach/base/clean_text.h"
#include "attach/base/wall_clock.h"
#include "client/cli/messages.h"
#include "client/cli/process_id.h"

namespace ptrace_prof {
namespace {

constexpr char kUsualFile[] = "/var/log/ptrace-prof/audit.log";
constexpr int kLookEveryMs = 200;

constexpr char kAuditFooter[] =
    "The audit log is the file that `ptrace-profd --audit FILE` writes: a line for each action that a caller was\n"
    "allowed or refused. It belongs to the user who started the daemon (usually root). This command reads it with\n"
    "your own rights.\n"
    "\n"
    "Examples:\n"
    "  sudo ptrace-prof audit --since 1h --outcome refused\n"
    "  sudo ptrace-prof audit --uid alice --json\n"
    "  sudo ptrace-prof audit --follow\n";

}  // namespace

void AuditView::Declare(CLI::App& app) {
  app.add_option("--file", file_,
                 fmt::format("The audit log (default: the file that the daemon reports, else {})", kUsualFile))
      ->type_name("FILE");
  app.add_option("-u,--uid", user_, "Only requests of this user (name or number)")->type_name("USER");
  app.add_option("-p,--pid", pid_, "Only requests from this process or about it")->type_name("PID");
  app.add_option("--since", since_, "Only entries since then: 90s, 30m, 2h, 3d ago, or 2026-11-21T22:10 (UTC)")
      ->type_name("TIME");
  app.add_option("--outcome", outcome_, "Only this outcome: started, allowed, refused or failed")
      ->check(CLI::IsMember({"started", "allowed", "refused", "failed"}))
      ->type_name("OUTCOME");
  app.add_flag("-j,--json", json_, "Print the lines of the log, one JSON object each");
  app.add_flag("-f,--follow", follow_, "Follow new entries until Ctrl-C");
  app.footer(kAuditFooter);
}

Result<std::string> AuditView::ChooseFile(CaptureBackend& backend) const {
  if (!file_.empty()) {
    return file_;
  }
  const auto daemon = backend.Daemon();
  if (daemon.has_error()) {
    return daemon.error().reason == Reason::kNoDaemon ? Result<std::string>(kUsualFile) : daemon.error();
  }
  if (!daemon.value().keeping.has_value()) {
    return Because(Reason::kPermissionDenied,
                   "only root and the user who started the daemon can ask where its audit log is",
                   "sudo ptrace-prof audit");
  }
  if (daemon.value().keeping->audit.empty()) {
    return Error{Code::kNotFound, "the daemon writes no audit log", "start ptrace-profd with --audit FILE"};
  }
  if (!backend.is_of_this_machine()) {
    return Error{Code::kInvalidArgument,
                 fmt::format("the audit log is on the daemon's machine, {}", CleanText(daemon.value().node)),
                 "run ptrace-prof audit there"};
  }
  return daemon.value().keeping->audit;
}

Result<AuditFilter> AuditView::ReadFilter() const {
  AuditFilter filter{.outcome = outcome_};
  if (!user_.empty()) {
    filter.uid = UserNames::Find(user_);
    if (!filter.uid) {
      return Error{Code::kInvalidArgument, fmt::format("there is no user '{}'", CleanText(user_)),
                   "give a name or a number to --uid"};
    }
  }
  if (!pid_.empty()) {
    PP_ASSIGN_OR_RETURN(filter.pid, ParsePid(pid_));
  }
  if (!since_.empty()) {
    PP_ASSIGN_OR_RETURN(filter.since, ParseSince(since_, RealtimeNow()));
  }
  return filter;
}

bool AuditView::ShowLine(std::string_view line) {
  const auto record = ParseAuditLine(line);
  if (!record.has_value()) {
    ++damaged_;
    return true;
  }
  first_ = first_.value == 0 ? record->time : first_;
  if (!Matches(*record, filter_)) {
    return true;
  }
  const std::string titles = shown_++ == 0 && !json_ ? AuditTitles() : "";
  printed_ = PrintOut(json_ ? record->json + "\n" : titles + AuditTableLine(*record, names_.Of(record->uid)));
  return printed_ == ExitCode::kOk;
}

void AuditView::ReportWhatIsMissing(const AuditFile& file) const {
  if (damaged_ > 0) {
    PrintNote(fmt::format("skipped {} damaged lines of {}", damaged_, path_));
  }
  if (!file.rest().empty()) {
    PrintNote(fmt::format("the last line of {} is incomplete: it is still being written, or the disk was full", path_));
  }
  if (const std::string older = path_ + ".1"; ::access(older.c_str(), F_OK) == 0 && filter_.since < first_) {
    PrintNote(fmt::format("{} was rotated: older entries are in {} (show them with --file)", path_, older));
  }
}

Result<ExitCode> AuditView::ShowUntilNow(AuditFile& file) {
  PP_ASSIGN_OR_RETURN(const auto change, file.ReadOn([this](std::string_view line) { return ShowLine(line); }));
  (void)change;
  if (printed_ != ExitCode::kOk) {
    return printed_;
  }
  ReportWhatIsMissing(file);
  if (shown_ == 0) {
    PrintNote(fmt::format("no entry in {} matches", path_));
  }
  return ExitCode::kOk;
}

Result<ExitCode> AuditView::Follow(AuditFile& file) {
  for (uint64_t damaged = 0;;) {
    PP_ASSIGN_OR_RETURN(const auto change, file.ReadOn([this](std::string_view line) { return ShowLine(line); }));
    if (printed_ != ExitCode::kOk) {
      return printed_;
    }
    if (damaged_ > std::exchange(damaged, damaged_)) {
      PrintNote(fmt::format("skipped {} damaged lines so far", damaged_));
    }
    if (change == AuditFile::Change::kReplaced) {
      PrintNote(fmt::format("{} was rotated: continuing with the new file", path_));
      continue;
    }
    if (change == AuditFile::Change::kCutShort) {
      PrintNote(fmt::format("{} was truncated (rotated): reading from its beginning", path_));
    }
    pollfd output{STDOUT_FILENO, 0, 0};
    if (::poll(&output, 1, kLookEveryMs) > 0) {  // the reader of our output has closed it
      return ExitCode::kOutput;
    }
  }
}

Result<ExitCode> AuditView::Show(CaptureBackend& backend) {
  PP_ASSIGN_OR_RETURN(filter_, ReadFilter());
  PP_ASSIGN_OR_RETURN(path_, ChooseFile(backend));
  PP_ASSIGN_OR_RETURN(AuditFile file, AuditFile::Open(path_));
  return follow_ ? Follow(file) : ShowUntilNow(file);
}

}  // namespace ptrace_prof
