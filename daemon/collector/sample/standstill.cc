#include "daemon/collector/sample/standstill.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {

void Standstill::Saw(bool runs, std::string_view stopped_by) {
  runs_ = runs_ || runs;
  if (!stopped_by.empty()) {
    stands_ = true;
    by_ = stopped_by;
  }
}

Nanos Standstill::EndRound(Nanos now) {
  const Nanos before = std::exchange(last_round_, std::max(now, last_round_));
  const bool stood = std::exchange(stands_, false) && !std::exchange(runs_, false);
  runs_ = false;
  const Nanos time = stood && before != Nanos() && now > before ? now - before : Nanos();
  total_ = total_ + time;
  return time;
}

}  // namespace ptrace_prof
