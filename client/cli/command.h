// The interface of a subcommand: it declares its options and runs. The table in command.cc lists all of them.
//
// Owned by the command line for one run; Run() is called after a successful parse.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/remote/capture_backend.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

struct CommandContext {
  CaptureBackend& backend;
  const CLI::App& root;              // all options of all commands, for completion
  std::vector<std::string> program;  // the words after "--"
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void Declare(CLI::App& app) = 0;
  // Returns the exit status of our process.
  virtual int Run(const CommandContext& context) = 0;
};

struct CommandRow {
  std::string_view name;
  std::string_view usage;  // after "ptrace-prof NAME "; one line for each form
  std::string_view summary;
  bool takes_program;  // words after "--" are a program to run
  std::unique_ptr<Command> (*make)();
};
std::span<const CommandRow> Commands();

std::unique_ptr<Command> MakeRecordCommand();
std::unique_ptr<Command> MakeDumpCommand();
std::unique_ptr<Command> MakeTopCommand();
std::unique_ptr<Command> MakePsCommand();
std::unique_ptr<Command> MakeDoctorCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeTableCommand();
std::unique_ptr<Command> MakeCapturesCommand();
std::unique_ptr<Command> MakeDaemonCommand();
std::unique_ptr<Command> MakeAuditCommand();
std::unique_ptr<Command> MakeCompletionCommand();

}  // namespace ptrace_prof
