// Limits how often the log reports an event that others can cause at will: at most kTimesASecond times a second. Each
// report contains the number of events left out before it. Any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

class ReportLimit {
 public:
  static constexpr size_t kTimesASecond = 10;

  // Returns the number of events left out since the last report; nullopt: leave this one out too.
  std::optional<size_t> Report(Nanos now) {
    const std::lock_guard lock(mutex_);
    if (since_ == Nanos() || now - since_ > Nanos::FromSeconds(1)) {
      since_ = now;
      reported_ = 0;
    }
    if (reported_ >= kTimesASecond) {
      ++unreported_;
      return std::nullopt;
    }
    ++reported_;
    const size_t before = unreported_;
    unreported_ = 0;
    return before;
  }

 private:
  std::mutex mutex_;
  Nanos since_;
  size_t reported_ = 0;
  size_t unreported_ = 0;
};

// Adds to a reported error the number of similar errors that were left out.
inline Error WithUnreported(Error why, size_t unreported) {
  why.message += unreported > 0 ? " (and " + std::to_string(unreported) + " others before)" : "";
  return why;
}

}  // namespace ptrace_prof
