// Starts collectors through the launcher, with the rights of one peer that it let in; many of these share one
// connection. The launcher forgets the peer when this goes.
//
// Thread-safe. It and its collectors keep the connection alive.
#pragma once

#include <memory>

#include "daemon/server/captures/collector.h"
#include "daemon/server/captures/launcher_connection.h"

namespace ptrace_prof {

class LauncherStarter : public CollectorStarter {
 public:
  LauncherStarter(std::shared_ptr<LauncherConnection> connection, PeerNumber peer)
      : connection_(std::move(connection)), peer_(peer) {}
  ~LauncherStarter() override { connection_->ForgetPeer(peer_); }

  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;

 private:
  const std::shared_ptr<LauncherConnection> connection_;
  const PeerNumber peer_;
};

}  // namespace ptrace_prof
