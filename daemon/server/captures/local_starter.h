// Starts collectors as children of this process, with its own rights.
//
// For `record -- command…` the next capture launches a command, which then is its target (see CollectorProcess).
// Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "daemon/server/captures/collector.h"

namespace ptrace_prof {

class LocalStarter : public CollectorStarter {
 public:
  // The next Start launches `command`, whatever pid its request names.
  void LaunchNext(std::vector<std::string> command);
  // What became of that: nothing before the Start; its pid, or why it could not be started (kNotFound,
  // kPermissionDenied).
  Result<Pid> launched() const;

  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> command_;
  Result<Pid> launched_ = Pid();
};

}  // namespace ptrace_prof
