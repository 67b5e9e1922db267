// A ToldLimit for each user, so that what one makes happen often does not hide what another does. Users beyond a
// number, which one alone may have by user namespaces, share one. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "attach/base/told_limit.h"

namespace ptrace_prof {

class ToldUsers {
 public:
  static constexpr size_t kMostUsers = 1000;

  // As ToldLimit::Tell; those that were not told are that user's.
  std::optional<size_t> Tell(uint32_t user, Nanos now) { return Of(user).Tell(now); }

 private:
  ToldLimit& Of(uint32_t user) {
    const std::lock_guard lock(mutex_);
    if (const auto known = users_.find(user); known != users_.end()) {
      return known->second;
    }
    return users_.size() < kMostUsers ? users_[user] : others_;
  }

  std::mutex mutex_;
  std::map<uint32_t, ToldLimit> users_;
  ToldLimit others_;
};

}  // namespace ptrace_prof
