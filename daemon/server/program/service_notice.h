// Reports our state to the service manager by the protocol of sd_notify(3): datagrams of NAME=value lines to the socket
// that $NOTIFY_SOCKET names.
//
// Without that variable, all methods do nothing. Create it while there is one thread and before privileges are dropped,
// since the socket may be unreachable afterwards; then it is thread-safe. A service manager that does not read cannot
// block us.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class ServiceNotice {
 public:
  // Removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment: our children are not the service.
  ServiceNotice();

  // `status` is a sentence for `systemctl status`.
  void Ready(std::string_view status);
  void Status(std::string_view status);
  // `most`: the longest time that the end may take; the manager waits that long, whatever its own limit is.
  void Stopping(std::string_view status, Nanos most);
  // For a start that takes longer than the manager would wait.
  void Starting(std::string_view status, Nanos most);
  // Tells the watchdog that we are not stuck.
  void Alive();

  // The longest interval between calls of Alive(); nothing: there is no watchdog.
  std::optional<Nanos> alive_every() const { return alive_every_; }
  // Why the socket cannot be used, if $NOTIFY_SOCKET names one.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  Result<UniqueFd> Connect(const std::string& address);
  void Send(std::string_view lines) const;

  UniqueFd socket_;
  std::optional<Nanos> alive_every_;
  std::optional<Error> trouble_;
};

}  // namespace ptrace_prof
