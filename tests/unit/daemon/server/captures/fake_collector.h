// Collectors without a process, for tests: what they "record" is what the test writes into their pipe.
//
// The starter outlives its collectors. Start() may be called from any thread, all else from the test's thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/unique_fd.h"
#include "daemon/server/captures/caller_access.h"

namespace ptrace_prof {

// What one collector and the test share.
struct FakeCollectorState {
  UniqueFd output;  // the test writes here, and closes it: the end of the trace
  CaptureTask request;
  std::atomic<bool> stopped = false;
  std::atomic<bool> killed = false;
  std::atomic<bool> ended = false;   // although another process still holds its output open
  std::atomic<int> status = 0;       // of wait(2)
  std::optional<Error> not_started;  // set it before the end of the output
};

class FakeStarter : public CollectorStarter, public CallerAllowance, public RequestAudit {
 public:
  CallerAccess access() { return {*this, *this, *this}; }
  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override;
  UserQuota quota() const override { return allowed; }
  std::optional<double> cpu_budget() const override { return budget; }
  void Refused(const CaptureTask&, const Error&, const std::string& quota) override {
    ++refusals;
    refused_by = quota;
  }

  // In the order of their start. When one is stopped it ends its trace by itself, unless it is deaf.
  std::vector<std::shared_ptr<FakeCollectorState>> started();
  void Forget();  // forgets those that were started so far
  std::atomic<bool> deaf = false;
  std::atomic<bool> refuse = false;
  std::atomic<bool> is_slow = false;  // no collector starts while it is true
  UserQuota allowed;                  // set it before others use this
  std::optional<double> budget;       // likewise
  std::atomic<int> refusals = 0;
  std::string refused_by;                 // the quota that refused last
  std::atomic<bool> end_at_once = false;  // every collector writes a complete trace and ends

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<FakeCollectorState>> started_;
};

// A trace of a few packets; `with_end`: with the packet that marks it as complete.
std::string SmallTrace(bool with_end = true, uint32_t samples = 10);
// Where each packet of a trace ends.
std::vector<uint64_t> PacketEnds(const std::string& trace);

bool WriteAll(int fd, const std::string& bytes);

}  // namespace ptrace_prof
