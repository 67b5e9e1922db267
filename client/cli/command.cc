#include "client/cli/command.h"

namespace ptrace_prof {
namespace {

constexpr CommandRow kCommands[] = {
    {"record", "--pid PID [OPTIONS]\n--name PATTERN [--wait [TIME]] [OPTIONS]\n[OPTIONS] -- COMMAND [ARGS...]",
     "Record where a Python process spends its time", true, MakeRecordCommand},
    {"dump", "--pid PID [OPTIONS]", "Print what every thread of a Python process is doing now", false, MakeDumpCommand},
    {"top", "--pid PID [OPTIONS]", "Watch where a Python process spends its time, live", false, MakeTopCommand},
    {"ps", "[OPTIONS]", "List the Python processes here, and why some cannot be profiled", false, MakePsCommand},
    {"doctor", "[--pid PID] [--json]", "Tell what works here, what does not, and what to do about it", false,
     MakeDoctorCommand},
    {"captures", "list|watch|cancel|delete|fetch [OPTIONS]", "Look after the captures that a daemon keeps", false,
     MakeCapturesCommand},
    {"daemon", "status|captures|cancel|audit [OPTIONS]", "Look after the daemon itself, and what all users do with it",
     false, MakeDaemonCommand},
    {"audit", "[--follow] [OPTIONS]", "Show who was let do what by the daemon, and who was refused", false,
     MakeAuditCommand},
    {"export", "TRACE [-o FILE] [OPTIONS]", "Convert a recorded trace into another format", false, MakeExportCommand},
    {"completion", "bash|zsh|fish", "Print a script that completes our options in a shell", false,
     MakeCompletionCommand},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

}  // namespace ptrace_prof
