#include <CLI/CLI.hpp>

#include "client/cli/admin/audit_view.h"
#include "client/cli/command.h"
#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

class AuditCommand : public Command {
 public:
  void Declare(CLI::App& app) override { view_.Declare(app); }

  int Run(const CommandContext& context) override {
    const auto code = view_.Show(context.backend);
    return static_cast<int>(code.has_error() ? Fail(code.error()) : code.value());
  }

 private:
  AuditView view_;
};

}  // namespace

std::unique_ptr<Command> MakeAuditCommand() { return std::make_unique<AuditCommand>(); }

}  // namespace ptrace_prof
