#include "daemon/collector/gpu/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr Nanos kApart = Nanos::FromMillis(50);  // with pairs that are sure to 100 ns, rates are to 2 in a million then
constexpr int64_t kSure = 5000;                  // the time between the ends of a line is so many times their widths
constexpr int64_t kPart = 8;  // a reading that is nearer to one end than this part of a line does not tell of a step
constexpr size_t kMost = 4096;
constexpr size_t kMostPieces = 16;
constexpr size_t kMostWaiting = 16;
constexpr int64_t kStep = 1000;           // ns: differences smaller than this are how pairs differ anyway
constexpr long double kDrift = 0.000'2L;  // of the rate, from one line to the next: far more than oscillators do
// So much later than the last reading a record may be.
constexpr Nanos kLate = Nanos::FromMillis(1000);

}  // namespace

Nanos ClockFit::OnLine(const Reading& from, const Reading& to, uint64_t counted) {
  const long double rate = static_cast<long double>(to.monotonic.value - from.monotonic.value) /
                           static_cast<long double>(to.counted - from.counted);
  const long double since = static_cast<long double>(counted) - static_cast<long double>(from.counted);
  const long double when = static_cast<long double>(from.monotonic.value) + rate * since;
  return Nanos(static_cast<int64_t>(std::clamp<long double>(std::round(when), -kLast, kLast)));
}

// The first line leads back, and the last one on.
Nanos ClockFit::OnLines(const Readings& ends, uint64_t counted) {
  const auto after = std::upper_bound(ends.begin() + 1, ends.end() - 1, counted,
                                      [](uint64_t value, const Reading& end) { return value < end.counted; });
  return OnLine(*(after - 1), *after, counted);
}

namespace {

// What two readings are unsure of together. Widths may be anything.
int64_t WidthOf(Nanos one, Nanos other) {
  constexpr int64_t kWide = int64_t{1} << 40;
  return std::clamp<int64_t>(one.value, 0, kWide) + std::clamp<int64_t>(other.value, 0, kWide);
}

bool AreSure(Nanos apart, int64_t width) { return apart >= kApart && apart.value / kSure >= width; }

}  // namespace

void ClockFit::Add(uint64_t counted, Nanos monotonic, Nanos width) {
  if (monotonic.value > kLast || monotonic < seen_) {
    return;
  }
  const Reading reading{counted, monotonic, width};
  if (is_settled_) {
    Follow(reading);
  } else {
    Await(reading);
  }
  seen_ = monotonic;
}

void ClockFit::Step(Nanos unsure) {
  ++steps_;
  unsure_ = unsure_ + unsure;
}

void ClockFit::Follow(const Reading& reading) {
  Readings& ends = pieces_.back().ends;
  const Reading& last = ends.back();
  const Reading& before = ends[ends.size() - 2];
  const int64_t width = WidthOf(reading.width, last.width);
  const Nanos since = reading.monotonic - last.monotonic;
  bool is_off = reading.counted <= last.counted;
  if (!is_off) {
    // Beyond a line, what its ends are unsure of grows with the distance.
    const long double share = kDrift + static_cast<long double>(WidthOf(before.width, last.width)) /
                                           static_cast<long double>((last.monotonic - before.monotonic).value);
    const long double unsure = kStep + width + static_cast<long double>(since.value) * share;
    const auto when = static_cast<long double>(OnLine(before, last, reading.counted).value);
    is_off = std::abs(when - static_cast<long double>(reading.monotonic.value)) > unsure;
  }
  if (is_off) {
    Step(reading.monotonic - seen_);
    pieces_.back().until = reading.monotonic;
    since_ = seen_;
    waiting_ = {reading};
    is_settled_ = is_disputed_ = false;
  } else if (AreSure(since, width)) {
    ends.push_back(reading);
  }
  if (ends.size() >= kMost) {
    ends.erase(ends.begin(), ends.begin() + kMost / 2);
  }
}

void ClockFit::Await(const Reading& reading) {
  if (!waiting_.empty() && reading.counted <= waiting_.back().counted) {
    Step(reading.monotonic - waiting_.front().monotonic);
    since_ = seen_;
    waiting_.clear();
    is_disputed_ = false;
  }
  waiting_.push_back(reading);
  for (auto from = BestStart(); from != waiting_.end(); from = BestStart()) {
    if (AgreeWith(*from, reading)) {
      Settle(*from, reading);
      return;
    }
    // A step, between any of them: those after it will agree.
    steps_ += std::exchange(is_disputed_, true) ? 0 : 1;
    unsure_ = unsure_ + (waiting_[1].monotonic - waiting_[0].monotonic);
    since_ = waiting_[0].monotonic;
    waiting_.erase(waiting_.begin());
  }
  if (waiting_.size() > kMostWaiting) {  // the sure ones stay, and get further apart
    waiting_.erase(std::max_element(waiting_.begin() + 1, waiting_.end() - 1,
                                    [](const Reading& a, const Reading& b) { return a.width < b.width; }));
  }
}

// From where there may be a line to the last one, past another; the surest.
ClockFit::Readings::const_iterator ClockFit::BestStart() const {
  const Reading& to = waiting_.back();
  auto best = waiting_.end();
  for (auto from = waiting_.begin(); from != waiting_.end(); ++from) {
    const Nanos apart = to.monotonic - from->monotonic;
    const bool has_witness = std::any_of(from + 1, waiting_.end(), [&](const Reading& one) {
      return std::min((one.monotonic - from->monotonic).value, (to.monotonic - one.monotonic).value) >=
             apart.value / kPart;
    });
    const bool is_surer = best == waiting_.end() || from->width < best->width;
    if (has_witness && is_surer && AreSure(apart, WidthOf(from->width, to.width))) {
      best = from;
    }
  }
  return best;
}

bool ClockFit::AgreeWith(const Reading& from, const Reading& to) const {
  return std::all_of(waiting_.begin(), waiting_.end(), [&](const Reading& one) {
    const auto since = static_cast<long double>((to.monotonic - one.monotonic).value);
    const long double unsure = kStep + WidthOf(one.width, from.width) + WidthOf(to.width, {}) + since * kDrift;
    const auto when = static_cast<long double>(OnLine(from, to, one.counted).value);
    return std::abs(when - static_cast<long double>(one.monotonic.value)) <= unsure;
  });
}

void ClockFit::Settle(const Reading& from, const Reading& to) {
  if (pieces_.size() >= kMostPieces) {
    pieces_.erase(pieces_.begin());
  }
  pieces_.push_back({since_, {}, {from, to}});
  waiting_.clear();
  is_settled_ = true;
  is_disputed_ = false;
}

Nanos ClockFit::UntilOf(const Piece& piece) const {
  if (!is_settled_ || &piece != &pieces_.back()) {
    return piece.until;
  }
  return pieces_.size() > 1 ? seen_ + kLate : Nanos(kLast);  // what is later there may be of before the step
}

// By the last piece in whose time that is. After the clock was set back that is the later one for what it passes again:
// of the two readings of such a time nobody can say which it was.
std::optional<Nanos> ClockFit::At(uint64_t counted) const {
  if (!waiting_.empty() && counted >= waiting_.front().counted) {
    return std::nullopt;
  }
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    const Nanos when = OnLines(piece->ends, counted);
    if (when <= UntilOf(*piece) && when >= piece->since) {
      return when;
    }
  }
  return std::nullopt;
}

Nanos ClockFit::unsure() const { return waiting_.empty() ? unsure_ : unsure_ + (seen_ - waiting_.front().monotonic); }

}  // namespace ptrace_prof
