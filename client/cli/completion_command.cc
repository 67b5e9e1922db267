#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/completion.h"
#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

class CompletionCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("shell", shell_, "bash, zsh or fish")->required();
    app.footer(
        "Examples:\n  source <(ptrace-prof completion bash)\n"
        "  ptrace-prof completion fish > ~/.config/fish/completions/ptrace-prof.fish\n");
  }

  int Run(const CommandContext& context) override {
    auto script = CompletionScript(shell_, context.root);
    if (script.has_error()) {
      return static_cast<int>(Fail(script.error()));
    }
    return static_cast<int>(PrintOut(script.value()));
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace ptrace_prof
