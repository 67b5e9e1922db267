// Starts collectors through the launcher, with the rights of one caller; many of these share one connection.
//
// Thread-safe. It and its collectors keep the connection alive.
#pragma once

#include <memory>

#include "daemon/launcher/caller_identity.h"
#include "daemon/session/collector.h"
#include "daemon/session/launcher_connection.h"

namespace ptrace_prof {

class LauncherStarter : public CollectorStarter {
 public:
  LauncherStarter(std::shared_ptr<LauncherConnection> connection, CallerIdentity caller)
      : connection_(std::move(connection)), caller_(std::move(caller)) {}

  Result<std::unique_ptr<Collector>> Start(const CaptureRequest& request) override;

 private:
  const std::shared_ptr<LauncherConnection> connection_;
  const CallerIdentity caller_;
};

}  // namespace ptrace_prof
