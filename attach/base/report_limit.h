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
  std::optional<size_t> Tell(Nanos now) {
    const std::lock_guard lock(mutex_);
    if (since_ == Nanos() || now - since_ > Nanos::FromSeconds(1)) {
      since_ = now;
      told_ = 0;
    }
    if (told_ >= kTimesASecond) {
      ++untold_;
      return std::nullopt;
    }
    ++told_;
    const size_t before = untold_;
    untold_ = 0;
    return before;
  }

 private:
  std::mutex mutex_;
  Nanos since_;
  size_t told_ = 0;
  size_t untold_ = 0;
};

// Adds to a reported error the number of similar errors that were left out.
inline Error WithUntold(Error why, size_t untold) {
  why.message += untold > 0 ? " (and " + std::to_string(untold) + " others before)" : "";
  return why;
}

}  // namespace ptrace_prof
