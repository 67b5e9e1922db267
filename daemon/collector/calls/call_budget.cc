#include "daemon/collector/calls/call_budget.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr Nanos kWeighEvery = Nanos::FromMillis(250);
constexpr Nanos kSettled = Nanos::FromMillis(50);  // records still on their way are not older than that
constexpr double kWorthIt = 0.005;                 // share of the excess below which a function may stay
constexpr double kEventsOfACall = 2;
constexpr size_t kMaxFunctions = size_t{1} << 18;
constexpr size_t kMaxSwitchedOff = 1024;

}  // namespace

CallBudget::Counts& CallBudget::CountsOf(RemoteAddr code) {
  const size_t* place = places_.Find(code.value);
  if (place == nullptr) {
    if (counts_.size() >= kMaxFunctions) {
      return none_;
    }
    place = places_.Insert(code.value, counts_.size());
    counts_.emplace_back(code, Counts{});
  }
  return counts_[*place].second;
}

void CallBudget::Weigh(Nanos now, uint64_t events) {
  if (!IsInUse()) {
    return;
  }
  Finish(now);
  if (last_ == Nanos()) {
    last_ = now;
    last_events_ = events;
  }
  const Nanos passed = now - last_;
  if (passed < kWeighEvery) {
    return;
  }
  const double allowed = share_ * static_cast<double>(passed.value) / std::max(event_cost_ns_, 1e-3);
  // Signed: while a gap ends, its events are counted nowhere for a moment.
  const double too_many = static_cast<double>(static_cast<int64_t>(events - last_events_)) - allowed;
  if (too_many > 0) {
    Choose(too_many);
  }
  last_ = now;
  last_events_ = events;
  for (auto& [code, counts] : counts_) {
    counts.leaf_calls = 0;
  }
}

// Switches off entirely the chosen functions that have no open call any more.
void CallBudget::Finish(Nanos now) {
  std::erase_if(going_, [&](Going& going) {
    if (going.since == Nanos() || world_.is_open(going.code)) {
      going.since = now;
      return false;
    }
    return now - going.since >= kSettled && (world_.switch_off(going.code, Step::kAll), true);
  });
}

void CallBudget::Choose(double events_too_many) {
  std::vector<std::pair<uint64_t, RemoteAddr>> noisy;
  for (const auto& [code, counts] : counts_) {
    const double events = kEventsOfACall * static_cast<double>(counts.leaf_calls);
    if (!counts.is_off && events > kWorthIt * events_too_many) {
      noisy.emplace_back(counts.leaf_calls, code);
    }
  }
  std::sort(noisy.begin(), noisy.end(), [](const auto& a, const auto& b) { return a > b; });
  for (const auto& [calls, code] : noisy) {
    if (events_too_many <= 0 || off_.size() >= kMaxSwitchedOff) {
      return;
    }
    if (SwitchOff(code)) {
      events_too_many -= kEventsOfACall * static_cast<double>(calls);
    }
  }
}

std::vector<LeftOut> CallBudget::Rows() const {
  std::vector<LeftOut> rows;
  rows.reserve(off_.size());
  for (const auto& [code, name] : off_) {
    const size_t* place = places_.Find(code.value);
    const uint64_t calls = place == nullptr ? 0 : counts_[*place].second.calls;
    rows.push_back({LeftOutCause::kOverhead, name, 1, calls, true});
  }
  return rows;
}

bool CallBudget::SwitchOff(RemoteAddr code) {
  CountsOf(code).is_off = true;  // tried only once
  if (!world_.switch_off(code, Step::kBegins)) {
    return false;
  }
  going_.push_back({code, Nanos()});
  off_.emplace_back(code, world_.name_of(code));
  return true;
}

}  // namespace ptrace_prof
