#include "client/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>

#include "client/cli/chosen_backend.h"
#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/help_format.h"
#include "client/cli/later_flags.h"
#include "client/cli/messages.h"
#include "daemon/server/manual/empty_values.h"
#include "daemon/server/manual/manual_page.h"

namespace ptrace_prof {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  ptrace-prof record --pid 4711 --duration 30s      a flame graph of 30 seconds, as a web page\n"
    "  ptrace-prof record -o run.pftrace -- python3 train.py\n"
    "  ptrace-prof export run.pftrace -o run.svg\n"
    "  ptrace-prof dump --pid 4711                       what every thread is doing now\n"
    "  ptrace-prof top --pid 4711                        where the time goes, live\n"
    "\n";

struct Entry {
  const CommandRow* row;
  std::unique_ptr<Command> command;
  CLI::App* app;
};

// The commands that need a capture, from this process or from a daemon.
constexpr std::string_view kAsking[] = {"record", "dump", "top", "ps", "doctor", "captures", "daemon", "audit"};

bool AsksSomebody(std::string_view command) {
  return std::find(std::begin(kAsking), std::end(kAsking), command) != std::end(kAsking);
}

std::vector<Entry> DeclareAll(CLI::App& root, ChosenBackend& backend) {
  root.set_version_flag("--version", fmt::format("ptrace-prof {}", PP_VERSION), "Print the version");
  root.set_help_flag("-h,--help", "Print this help");
  backend.Declare(root);
  root.require_subcommand(1);
  root.formatter(MakeHelpFormat());
  root.footer(kExamples + std::string(ExitCodeHelp()));
  std::vector<Entry> entries;
  for (const CommandRow& row : Commands()) {
    CLI::App* app = root.add_subcommand(std::string(row.name), std::string(row.summary));
    entries.push_back({&row, row.make(), app});
    entries.back().command->Declare(*app);
    if (AsksSomebody(row.name)) {
      backend.Declare(*app);
    }
  }
  return entries;
}

// Replacements for the parser's messages about missing options.
struct Missing {
  std::string_view said;
  const char* message;
  const char* remedy;
};
constexpr Missing kMissing[] = {
    {"id is required", "the ID of a capture is missing", "`ptrace-prof captures list` shows the IDs"},
    {"trace is required", "no trace to export is given", "give the .pftrace that `record` wrote, or - for stdin"},
    {"--pid is required", "no process is given", "give --pid PID; `ptrace-prof ps` lists the Python processes"},
};

// "--pid -d 5s": an option that was parsed as the value of the one before it.
std::optional<Error> MissingValue(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.starts_with('-') && app.get_option_no_throw(value) != nullptr) {
        return Error{Code::kInvalidArgument,
                     fmt::format("{} needs a value, but '{}' is an option", option->get_name(), value),
                     fmt::format("see `{} --help`", name)};
      }
    }
  }
  return std::nullopt;
}

// The error if no valid command of `app` (ptrace-prof itself, or `captures`) was given.
std::optional<Error> MissingCommand(const CLI::App& app, const std::string& name) {
  std::string commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->parsed()) {
      return std::nullopt;
    }
    commands += fmt::format("{}{}", commands.empty() ? "" : ", ", command->get_name());
  }
  if (commands.empty()) {
    return std::nullopt;
  }
  const std::vector<std::string> words = app.remaining();
  const std::string what = words.empty() ? fmt::format("`{}` needs a subcommand", name)
                           : words.front().starts_with('-')
                               ? fmt::format("`{}` has no option '{}'", name, words.front())
                               : fmt::format("`{}` has no command '{}'", name, words.front());
  return Error{Code::kInvalidArgument, what, fmt::format("commands are {}; see `{} --help`", commands, name)};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Error UsageError(const CLI::ParseError& error, const CLI::App& root) {
  std::string name = "ptrace-prof";
  for (const CLI::App* chosen : root.get_subcommands()) {
    name += " " + chosen->get_name();
    if (auto missing = MissingValue(*chosen, name); missing.has_value()) {
      return *missing;
    }
  }
  const CLI::App& last = root.get_subcommands().empty() ? root : *root.get_subcommands().back();
  if (auto missing = MissingCommand(last, name); missing.has_value()) {
    return *missing;
  }
  const std::vector<std::string> extras = root.remaining(true);
  if (const auto misplaced = root.remaining(false); !misplaced.empty() && name != "ptrace-prof") {
    return {Code::kInvalidArgument, fmt::format("'{}' is before the command", misplaced.front()),
            fmt::format("the options of a command come after its name: `{} {} …`", name, misplaced.front())};
  }
  if (!extras.empty() && std::ranges::all_of(extras.front(), IsDigit) && last.get_option_no_throw("--pid") != nullptr) {
    return {Code::kInvalidArgument, fmt::format("`{}`: unexpected argument '{}'", name, extras.front()),
            fmt::format("did you mean --pid {}?", extras.front())};
  }
  for (const Missing& row : kMissing) {
    if (row.said == error.what()) {
      return {Code::kInvalidArgument, row.message, row.remedy};
    }
  }
  if (const std::string said = error.what(); extras.empty()) {
    const bool no_value = error.get_name() == "ArgumentMismatch" && said.ends_with(" missing");
    return {Code::kInvalidArgument, no_value ? said.substr(0, said.find(':')) + " needs a value" : said,
            fmt::format("see `{} --help`", name)};
  }
  const std::string& first = extras.front();
  const bool program = name.ends_with("record") && !first.starts_with('-');
  return {Code::kInvalidArgument, fmt::format("`{}`: unexpected argument '{}'", name, first),
          program ? "put -- before the command to start" : fmt::format("see `{} --help`", name)};
}

// The first word must name a command, or be an option of ptrace-prof.
Result<void> CheckCommandName(const std::vector<std::string>& words) {
  std::string names;
  for (const CommandRow& row : Commands()) {
    if (!words.empty() && (words[0] == row.name || words[0].starts_with('-'))) {
      return {};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return Error{Code::kInvalidArgument,
               words.empty() ? "no command is given" : fmt::format("there is no command '{}'", words[0]),
               fmt::format("commands are {}; see `ptrace-prof --help`", names)};
}

int Dispatch(std::vector<Entry>& entries, const CommandContext& context, ChosenBackend& backend) {
  for (Entry& entry : entries) {
    if (!entry.app->parsed()) {
      continue;
    }
    if (!context.program.empty() && !entry.row->takes_program) {
      return static_cast<int>(
          Fail({Code::kInvalidArgument,
                fmt::format("`{}` does not start a program, but one is given after --", entry.row->name),
                "only `ptrace-prof record -- COMMAND` does"}));
    }
    if (backend.IsNamed() && !AsksSomebody(entry.row->name)) {
      return static_cast<int>(
          Fail({Code::kInvalidArgument, fmt::format("`{}` uses no daemon, so --host has no effect", entry.row->name),
                "leave --host out"}));
    }
    if (auto later = CheckLaterFlags(*entry.app); later.has_error()) {
      return static_cast<int>(Fail(later.error(), ExitCode::kUsage));
    }
    const CLI::Option* quiet = entry.app->get_option_no_throw("--quiet");
    if (quiet != nullptr && quiet->count() > 0) {
      backend.BeQuiet();
    }
    return entry.command->Run(context);
  }
  return static_cast<int>(ExitCode::kUsage);
}

// Used by the build, which installs the manual; hidden from --help and completion.
constexpr std::string_view kManualWord = "--help-man";

std::string Manual(const CLI::App& root) {
  ManualInfo info{.section = 1,
                  .version = PP_VERSION,
                  .see_also =
                      "ptrace-profd(8), ptrace-prof-policy(5), ptrace(2), "
                      "proc(5)"};
  for (const CommandRow& row : Commands()) {
    for (std::string_view rest = row.usage; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      info.synopsis.push_back(fmt::format("{} {}", row.name, rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return ManualPage(root, info);
}

}  // namespace

int RunCommandLine(int argc, char** argv, CaptureBackend& embedded) {
  ChosenBackend backend(embedded);
  CLI::App root("Shows where a live Python process spends its time.", "ptrace-prof");
  std::vector<Entry> entries = DeclareAll(root, backend);
  RefuseEmptyValues(root);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == kManualWord) {
    return static_cast<int>(PrintOut(Manual(root)));
  }
  const auto dashes = std::find(words.begin(), words.end(), "--");
  CommandContext context{backend, root, {}};
  if (dashes != words.end()) {
    context.program.assign(dashes + 1, words.end());
  }
  std::vector<std::string> ours(words.begin(), dashes);
  if (auto named = CheckCommandName(ours); named.has_error()) {
    return static_cast<int>(Fail(named.error()));
  }
  std::reverse(ours.begin(), ours.end());  // CLI11 expects the words in reverse
  try {
    root.parse(ours);
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream said;
    const int status = root.exit(asked, said, std::cerr);
    const ExitCode printed = PrintOut(said.str());
    return printed != ExitCode::kOk ? static_cast<int>(printed) : status;
  } catch (const CLI::ParseError& error) {
    return static_cast<int>(Fail(UsageError(error, root)));
  }
  if (dashes != words.end() && context.program.empty()) {
    return static_cast<int>(
        Fail({Code::kInvalidArgument, "there is no command after --", "ptrace-prof record -- COMMAND"}));
  }
  return Dispatch(entries, context, backend);
}

}  // namespace ptrace_prof
