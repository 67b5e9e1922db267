// The number of bytes of traces that a user has stored. All captures of the user count in one account, and stop growing
// when it is full.
//
// The registry keeps an account for each user with captures; a capture holds its share until it is forgotten. The limit
// may change at any time. Thread-safe.
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

// The share of one capture; destroying it gives the bytes back. Use it from one thread. Without an account it counts
// nothing.
class SpoolShare {
 public:
  explicit SpoolShare(std::shared_ptr<SpoolAccount> account) : account_(std::move(account)) {}
  ~SpoolShare() { Set(0); }
  SpoolShare(const SpoolShare&) = delete;
  SpoolShare& operator=(const SpoolShare&) = delete;

  void Set(uint64_t bytes) {
    if (account_ != nullptr) {
      // A smaller value wraps around, as intended.
      account_->used_.fetch_add(bytes - bytes_, std::memory_order_relaxed);
      bytes_ = bytes;
    }
  }
  const SpoolAccount* account() const { return account_.get(); }

 private:
  const std::shared_ptr<SpoolAccount> account_;
  uint64_t bytes_ = 0;
};

}  // namespace ptrace_prof
