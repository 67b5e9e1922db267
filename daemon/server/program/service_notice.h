// What the service manager is told of our life, by the protocol of sd_notify(3): datagrams of NAME=value lines to the
// socket that $NOTIFY_SOCKET names.
//
// Without that variable everything here does nothing. Made while there is one thread, and before rights are given up,
// as the socket may be out of our reach afterwards; then thread-safe. Whoever does not listen is no trouble to us.
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
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment: our children are not the service.
  ServiceNotice();

  // `status` is a sentence for `systemctl status`.
  void Ready(std::string_view status);
  void Status(std::string_view status);
  // `most`: what the end may take at the most; the manager waits that long, whatever its own limit is.
  void Stopping(std::string_view status, Nanos most);
  // A start that takes longer than the manager would wait.
  void Starting(std::string_view status, Nanos most);
  // That we are not stuck.
  void Alive();

  // How often Alive() is to be said at least; nothing: nobody asked.
  std::optional<Nanos> alive_every() const { return alive_every_; }
  // Why the socket cannot be used, where there should be one.
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  Result<UniqueFd> Connect(const std::string& address);
  void Send(std::string_view lines) const;

  UniqueFd socket_;
  std::optional<Nanos> alive_every_;
  std::optional<Error> trouble_;
};

}  // namespace ptrace_prof
