// A few threads for work that must not block gRPC's two threads: starting a collector through the launcher, and
// searching a long trace.
//
// Users take turns; a user's jobs run in their order. So a user who asks for much delays only that user. A job can be
// withdrawn until it has begun. Owned by the CallResources. Thread-safe. The destructor waits for running jobs; no
// other job may be queued then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "attach/base/result.h"

namespace ptrace_prof {

class StartPool {
 public:
  using Ticket = uint64_t;

  explicit StartPool(size_t threads) : most_(threads) {}
  ~StartPool();

  // `ticket` is set before the job can begin. OUT_OF_RESOURCES: there is no thread and none can be started; the job
  // never runs.
  Result<void> Add(uint32_t user, std::function<void()> job, std::atomic<Ticket>& ticket);
  // Returns true if the job will never run; false if it has begun or already ended.
  bool Withdraw(uint32_t user, Ticket ticket);

 private:
  using Jobs = std::deque<std::pair<Ticket, std::function<void()>>>;
  void Run();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, Jobs> jobs_;  // by user; no entry is empty
  uint32_t last_ = 0;              // the user served last
  Ticket next_ = 1;
  size_t idle_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;  // as many as were needed at once so far
};

}  // namespace ptrace_prof
