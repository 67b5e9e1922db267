#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/inspect/doctor_text.h"
#include "client/cli/inspect/inspection.h"
#include "client/cli/inspect/inspection_json.h"
#include "client/cli/messages.h"
#include "client/cli/process_id.h"

namespace ptrace_prof {
namespace {

constexpr char kDoctorFooter[] =
    "Changes nothing and stops no process. Exits with 0 if profiling works, with or without limits, else like\n"
    "`record`: 3 no such process, 4 not permitted, 5 not a Python that can be read.\n"
    "\n"
    "Examples:\n"
    "  ptrace-prof doctor\n"
    "  ptrace-prof doctor --pid 4711\n"
    "  ptrace-prof doctor --json | jq '.checks[] | select(.verdict != \"ok\")'\n";

class DoctorCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("-p,--pid", pid_, "Also check this process")->type_name("PID");
    app.add_flag("-j,--json", json_, "As JSON (its schema is in docs/cli.md)");
    app.footer(kDoctorFooter);
  }

  int Run(const CommandContext& context) override {
    const Result<ExitCode> done = Examine(context.backend);
    return static_cast<int>(done.has_error() ? Fail(done.error()) : done.value());
  }

 private:
  Result<ExitCode> Examine(CaptureBackend& backend) {
    CaptureTask task;
    task.set_verb(CaptureTask::DOCTOR);
    Pid pid;
    if (!pid_.empty()) {
      PP_ASSIGN_OR_RETURN(pid, ParseTarget(pid_));
      SetTarget(pid, &task);
    }
    PP_ASSIGN_OR_RETURN(const Inspection found, Inspect(backend, task));
    if (found.checks.empty()) {
      return found.end.code == Code::kOk ? Because(Reason::kCollectorFailed, "the diagnosis is empty", "try again")
                                         : ErrorOf(found.end);
    }
    const std::string text = json_ ? DoctorJson(found, pid) : DoctorText(found, pid);
    if (const ExitCode printed = PrintOut(text); printed != ExitCode::kOk) {
      return printed;
    }
    return ExitCodeOf(OutcomeFor(found, pid));
  }

  std::string pid_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace ptrace_prof
