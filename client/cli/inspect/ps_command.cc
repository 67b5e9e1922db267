#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "client/cli/command.h"
#include "client/cli/command_pattern.h"
#include "client/cli/inspect/inspection.h"
#include "client/cli/inspect/inspection_json.h"
#include "client/cli/inspect/ps_table.h"
#include "client/cli/messages.h"
#include "client/cli/user_names.h"

namespace ptrace_prof {
namespace {

constexpr char kPsFooter[] =
    "Lists every visible Python process. The line below one that cannot be profiled gives the cause and the remedy.\n"
    "Python is recognised by the files that a process has mapped, not by its name. RANK is the current\n"
    "RANK/WORLD_SIZE of the process. No process is stopped.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof ps\n"
    "  ptrace-prof ps --user alice --name 'train.*\\.py'\n"
    "  ptrace-prof ps --json | jq -r '.[] | select(.profilable and .rank == 0) | .pid'\n";

size_t TerminalColumns() {
  winsize size{};
  return ::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

class PsCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("-u,--user", user_, "Only processes of this user (name or number)")->type_name("USER");
    app.add_option("-n,--name", pattern_, "Only processes whose command line matches this extended regular expression")
        ->type_name("PATTERN");
    app.add_flag("-a,--all", all_, "Also zombies, and programs with an unused libpython");
    app.add_flag("-j,--json", json_, "As JSON, one array (its fields are in docs/cli.md)");
    app.footer(kPsFooter);
  }

  int Run(const CommandContext& context) override {
    const Result<ExitCode> done = List(context.backend);
    return static_cast<int>(done.has_error() ? Fail(done.error()) : done.value());
  }

 private:
  Result<ExitCode> List(CaptureBackend& backend) {
    std::optional<Uid> user;
    if (!user_.empty()) {
      user = UserNames::Find(user_);
      if (!user.has_value()) {
        return Error{Code::kInvalidArgument, fmt::format("there is no user '{}'", user_), "give a name or a number"};
      }
    }
    PP_ASSIGN_OR_RETURN(const CommandPattern pattern, CommandPattern::Compile(pattern_));
    CaptureTask request;
    request.set_verb(CaptureTask::LIST);
    PP_ASSIGN_OR_RETURN(Inspection found, Inspect(backend, request));
    if (found.end.code != Code::kOk) {
      return ErrorOf(found.end);
    }
    std::erase_if(found.entries, [&](const ProcessEntry& entry) {
      return (!all_ && entry.kind != ProcessKind::kPython) || (user && entry.uid != *user) ||
             !(pattern.Matches(CommandText(entry)) || pattern.Matches(entry.name));
    });
    return Print(found);
  }

  ExitCode Print(const Inspection& found) {
    UserNames users;
    const std::string text = json_ ? PsJson(found.entries, users) : PsTable(found.entries, users, TerminalColumns());
    if (const ExitCode printed = PrintOut(text); printed != ExitCode::kOk) {
      return printed;
    }
    for (const Check& check : found.checks) {
      PrintNote(fmt::format("note: {}{}{}", check.cause, check.remedy.empty() ? "" : "; ", check.remedy));
    }
    return ExitCode::kOk;
  }

  std::string user_;
  std::string pattern_;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePsCommand() { return std::make_unique<PsCommand>(); }

}  // namespace ptrace_prof
