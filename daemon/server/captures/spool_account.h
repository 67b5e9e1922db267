// How many bytes of traces a user has stored: all captures of that user count into one account, and stop growing where
// it is full.
//
// The registry keeps one for each user who has captures; a capture holds its part until it is forgotten. The limit may
// change meanwhile. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace ptrace_prof {

class SpoolAccount {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  bool is_full() const { return used() >= limit(); }
  void Limit(uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  friend class SpoolShare;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> limit_ = kNoLimit;
};

// The part of one capture; given back with it. Of one thread. Without an account nothing is counted.
class SpoolShare {
 public:
  explicit SpoolShare(std::shared_ptr<SpoolAccount> account) : account_(std::move(account)) {}
  ~SpoolShare() { Set(0); }
  SpoolShare(const SpoolShare&) = delete;
  SpoolShare& operator=(const SpoolShare&) = delete;

  void Set(uint64_t bytes) {
    if (account_ != nullptr) {
      account_->used_.fetch_add(bytes - bytes_, std::memory_order_relaxed);  // wraps where it is less
      bytes_ = bytes;
    }
  }
  const SpoolAccount* account() const { return account_.get(); }

 private:
  const std::shared_ptr<SpoolAccount> account_;
  uint64_t bytes_ = 0;
};

}  // namespace ptrace_prof
