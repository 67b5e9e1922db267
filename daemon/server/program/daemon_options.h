// The command line of ptrace-profd, parsed and checked. Plain data.
#pragma once

#include <optional>
#include <string>

#include "attach/base/result.h"
#include "daemon/server/captures/capture_limits.h"
#include "rpc/tls/tls_files.h"

namespace ptrace_prof {

struct DaemonOptions {
  std::string socket;
  std::string spool;
  std::string audit;    // empty: none
  std::string policy;   // empty: the default file, if it exists
  std::string metrics;  // address; empty: none
  bool metrics_remote = false;
  std::string tcp;  // address for clients with a certificate; empty: none
  TlsFiles tls;
  bool multi_user = false;               // every local user may connect, not only the one who started us
  Nanos drain = Nanos::FromSeconds(15);  // for a clean end
  CaptureLimits limits;
};

// If the program has nothing left to do (--help, --version, an error, which is printed), `exit_status` is set.
struct ParsedOptions {
  DaemonOptions options;
  std::optional<int> exit_status;
};
ParsedOptions ParseDaemonOptions(int argc, char** argv);

// The socket's path if none is given. kFailedPrecondition: there is no folder for it.
Result<std::string> DefaultSocketPath(Uid user);
std::string DefaultSpoolFolder(Uid user);

}  // namespace ptrace_prof
