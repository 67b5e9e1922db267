// ptrace-prof, the one executable: the command at the terminal, and the collector that it starts.

#include <unistd.h>

#include "attach/base/standard_descriptors.h"
#include "client/cli/command_line.h"
#include "client/cli/embedded.h"
#include "client/cli/messages.h"

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  OccupyStandardDescriptors();
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) {
    return static_cast<int>(
        Fail({Code::kPermissionDenied, "ptrace-prof must not be a set-user-ID or set-group-ID program",
              "remove these bits with chmod ug-s; use sudo for processes of other users"}));
  }
  if (const auto status = RunAsCollector(argc, argv); status.has_value()) {
    return *status;
  }
  return RunCommandLine(argc, argv, *MakeEmbeddedBackend());
}
