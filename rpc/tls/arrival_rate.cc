#include "rpc/tls/arrival_rate.h"

#include <algorithm>

namespace ptrace_prof {

bool ArrivalRate::Admit(const std::string& host, Nanos now) {
  if (used_up_until_.size() >= most_hosts_ && !used_up_until_.contains(host)) {
    std::erase_if(used_up_until_, [now](const auto& one) { return one.second <= now; });
  }
  const bool has_place = used_up_until_.size() < most_hosts_ || used_up_until_.contains(host);
  Nanos& until = used_up_until_[has_place ? host : std::string()];
  const Nanos then = std::max(until, now) + interval_;
  if (then - now > Nanos(interval_.value * static_cast<int64_t>(at_once_))) {
    return false;
  }
  until = then;
  return true;
}

}  // namespace ptrace_prof
