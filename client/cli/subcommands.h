// The subcommands of a command, like `captures list` and `daemon status`: each is a member function of Owner without
// arguments, whose error is printed. One is required; --host applies to all of them. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "client/cli/exit_code.h"
#include "client/cli/messages.h"

namespace ptrace_prof {

template <typename Owner>
class Subcommands {
 public:
  using Action = Result<ExitCode> (Owner::*)();

  CLI::App& Add(CLI::App& app, const char* name, const char* summary, Action action) {
    app.require_subcommand(1);
    CLI::App* added = app.add_subcommand(name, summary);
    added->fallthrough();
    actions_.emplace_back(added, action);
    return *added;
  }

  // Runs the chosen subcommand and returns the exit status.
  int Run(Owner& owner) const {
    for (const auto& [app, action] : actions_) {
      if (app->parsed()) {
        const auto code = (owner.*action)();
        return static_cast<int>(code.has_error() ? Fail(code.error()) : code.value());
      }
    }
    return static_cast<int>(ExitCode::kUsage);
  }

 private:
  std::vector<std::pair<CLI::App*, Action>> actions_;
};

}  // namespace ptrace_prof
