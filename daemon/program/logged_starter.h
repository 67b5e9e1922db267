// Says in the log who started which collector, or why that failed; the starting itself is another's.
//
// Thread-safe. Does not own the other starter, which outlives it.
#pragma once

#include "attach/base/types.h"
#include "daemon/session/collector.h"
#include "rpc/peer_identity.h"

namespace ptrace_prof {

class LoggedStarter : public CollectorStarter {
 public:
  LoggedStarter(CollectorStarter& starter, const PeerIdentity& caller)
      : starter_(starter), uid_(caller.uid), pid_(caller.pid) {}

  Result<std::unique_ptr<Collector>> Start(const CaptureRequest& request) override;

 private:
  CollectorStarter& starter_;
  const Uid uid_;
  const Pid pid_;
};

}  // namespace ptrace_prof
