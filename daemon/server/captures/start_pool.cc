#include "daemon/server/captures/start_pool.h"

#include <algorithm>

#include "attach/base/started_thread.h"

namespace ptrace_prof {

StartPool::~StartPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  std::ranges::for_each(threads_, [](std::thread& thread) { thread.join(); });
}

Result<void> StartPool::Add(uint32_t user, std::function<void()> job, std::atomic<Ticket>& ticket) {
  const std::lock_guard lock(mutex_);
  size_t waiting = 1;
  for (const auto& [whose, jobs] : jobs_) {
    waiting += jobs.size();
  }
  if (waiting > idle_ && threads_.size() < most_) {
    threads_.reserve(most_);
    auto thread = StartThread([this] { Run(); });
    if (thread.has_value()) {
      threads_.push_back(std::move(thread).value());
    } else if (threads_.empty()) {
      return std::move(thread).error();
    }
  }
  ticket = next_;
  jobs_[user].emplace_back(next_++, std::move(job));
  changed_.notify_one();
  return {};
}

bool StartPool::Withdraw(uint32_t user, Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto of_user = jobs_.find(user);
  const bool is_there = of_user != jobs_.end() &&
                        std::erase_if(of_user->second, [&](const auto& job) { return job.first == ticket; }) > 0;
  if (is_there && of_user->second.empty()) {
    jobs_.erase(of_user);
  }
  return is_there;
}

void StartPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) {
      return;
    }
    auto turn = jobs_.upper_bound(last_);
    turn = turn == jobs_.end() ? jobs_.begin() : turn;
    last_ = turn->first;
    const std::function<void()> job = std::move(turn->second.front().second);
    turn->second.pop_front();
    if (turn->second.empty()) {
      jobs_.erase(turn);
    }
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace ptrace_prof
