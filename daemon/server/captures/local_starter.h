// Starts collectors as children of this process, with its own rights.
//
// For `record -- command…` the next capture starts a command and profiles it (see CollectorProcess). Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "daemon/server/captures/collector.h"

namespace ptrace_prof {

class LocalStarter : public CollectorStarter {
 public:
  // The next Start launches `command`, and ignores the pid in its request.
  void LaunchNext(std::vector<std::string> command);
  // The launched command: no pid before Start; then its pid, or why it could not be started (kNotFound,
  // kPermissionDenied).
  Result<Pid> launched() const;

  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> command_;
  Result<Pid> launched_ = Pid();
};

}  // namespace ptrace_prof
