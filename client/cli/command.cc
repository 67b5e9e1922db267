#include "client/cli/command.h"

namespace ptrace_prof {
namespace {

constexpr CommandRow kCommands[] = {
    {"record", "--pid PID [OPTIONS]\n--name PATTERN [--wait [TIME]] [OPTIONS]\n[OPTIONS] -- COMMAND [ARGS...]",
     "Record where a Python process spends its time", true, MakeRecordCommand},
    {"dump", "--pid PID [OPTIONS]", "Print what every thread of a Python process is doing now", false, MakeDumpCommand},
    {"top", "--pid PID [OPTIONS]", "Watch where a Python process spends its time, live", false, MakeTopCommand},
    {"ps", "[OPTIONS]", "List the Python processes here, and why some cannot be profiled", false, MakePsCommand},
    {"doctor", "[--pid PID] [--json]", "Show what works here, what does not, and what to do about it", false,
     MakeDoctorCommand},
    {"captures", "list|watch|cancel|delete|fetch [OPTIONS]", "Manage the captures of a daemon", false,
     MakeCapturesCommand},
    {"daemon", "status|captures|cancel|audit [OPTIONS]", "Manage the daemon and the captures of all users", false,
     MakeDaemonCommand},
    {"audit", "[--follow] [OPTIONS]", "Show which requests the daemon allowed and refused, by user", false,
     MakeAuditCommand},
    {"export", "TRACE [-o FILE] [OPTIONS]", "Convert a recorded trace into another format", false, MakeExportCommand},
    {"table", "TRACE [OPTIONS]", "Show the operators of PyTorch in a recorded trace, added up", false,
     MakeTableCommand},
    {"completion", "bash|zsh|fish", "Print a completion script for a shell", false, MakeCompletionCommand},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

}  // namespace ptrace_prof
