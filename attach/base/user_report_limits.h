// A ReportLimit for each user, so that one user's many events do not hide another's. Beyond a fixed number of users
// (one person can have many through user namespaces) the rest share one limit. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "attach/base/report_limit.h"

namespace ptrace_prof {

class UserReportLimits {
 public:
  static constexpr size_t kMostUsers = 1000;

  // As ReportLimit::Tell; counts the left-out events of that user only.
  std::optional<size_t> Report(uint32_t user, Nanos now) { return Of(user).Report(now); }

 private:
  ReportLimit& Of(uint32_t user) {
    const std::lock_guard lock(mutex_);
    if (const auto known = users_.find(user); known != users_.end()) {
      return known->second;
    }
    return users_.size() < kMostUsers ? users_[user] : others_;
  }

  std::mutex mutex_;
  std::map<uint32_t, ReportLimit> users_;
  ReportLimit others_;
};

}  // namespace ptrace_prof
