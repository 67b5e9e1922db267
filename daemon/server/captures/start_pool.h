// A few threads for what a call cannot wait for on a thread of gRPC's, of which there are two for everybody: the start
// of a collector, for which the launcher is asked, and long looks into a trace.
//
// Users take turns, each user's jobs in the order in which they came: who asks for much delays only themselves. A job
// may be withdrawn until it has begun. Owned by the CaptureRegistry. Thread-safe. The destructor waits for jobs that
// have begun; nobody may have others in it then.
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

  // `ticket` is set before the job can begin. OUT_OF_RESOURCES: there is no thread, and none to be had; the job never
  // begins.
  Result<void> Add(uint32_t user, std::function<void()> job, std::atomic<Ticket>& ticket);
  // Whether it never begins; false: it has begun, and maybe ended.
  bool Withdraw(uint32_t user, Ticket ticket);

 private:
  using Jobs = std::deque<std::pair<Ticket, std::function<void()>>>;
  void Run();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, Jobs> jobs_;  // by user; none is empty
  uint32_t last_ = 0;              // whose turn it was
  Ticket next_ = 1;
  size_t idle_ = 0;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;  // as many as were needed at once so far
};

}  // namespace ptrace_prof
