#include "daemon/collector/gpu/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr Nanos kApart = Nanos::FromMillis(50);  // with pairs precise to 100 ns, rates are precise to 2 in a million
constexpr int64_t kSure = 5000;                  // least length of a line, in multiples of the widths of its ends
constexpr int64_t kPart = 8;                     // a witness must be at least this part of a line away from both ends
constexpr size_t kMost = 4096;
constexpr size_t kMostClockPieces = 16;
constexpr size_t kMostWaitingCounts = 16;
constexpr long double kDrift = 0.000'2L;  // change of rate between two lines: far more than oscillators drift
// A record may be that much later than the last reading.
constexpr Nanos kLateCounts = Nanos::FromMillis(1000);

}  // namespace

Nanos ClockFit::OnLine(const Reading& from, const Reading& to, uint64_t counted) {
  const long double rate = static_cast<long double>(to.monotonic.value - from.monotonic.value) /
                           static_cast<long double>(to.counted - from.counted);
  const long double since = static_cast<long double>(counted) - static_cast<long double>(from.counted);
  const long double when = static_cast<long double>(from.monotonic.value) + rate * since;
  return Nanos(static_cast<int64_t>(std::clamp<long double>(std::round(when), -kLast, kLast)));
}

// The first line also covers earlier counts, and the last one later counts.
Nanos ClockFit::OnLines(const Readings& ends, uint64_t counted) {
  const auto after = std::upper_bound(ends.begin() + 1, ends.end() - 1, counted,
                                      [](uint64_t value, const Reading& end) { return value < end.counted; });
  return OnLine(*(after - 1), *after, counted);
}

namespace {

// The uncertainty of two readings together. Widths may be anything.
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
    // Beyond a line, the uncertainty of its ends grows with the distance.
    const long double share = kDrift + static_cast<long double>(WidthOf(before.width, last.width)) /
                                           static_cast<long double>((last.monotonic - before.monotonic).value);
    const long double unsure = kPairNoise + width + static_cast<long double>(since.value) * share;
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
    // There was a step between some of them; the readings after it will agree.
    steps_ += std::exchange(is_disputed_, true) ? 0 : 1;
    unsure_ = unsure_ + (waiting_[1].monotonic - waiting_[0].monotonic);
    since_ = waiting_[0].monotonic;
    waiting_.erase(waiting_.begin());
  }
  if (waiting_.size() > kMostWaitingCounts) {  // keeps the precise readings, which get further apart
    waiting_.erase(std::max_element(waiting_.begin() + 1, waiting_.end() - 1,
                                    [](const Reading& a, const Reading& b) { return a.width < b.width; }));
  }
}

// The most precise reading from which a line to the last one is possible, with a third reading between them.
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
    const long double unsure = kPairNoise + WidthOf(one.width, from.width) + WidthOf(to.width, {}) + since * kDrift;
    const auto when = static_cast<long double>(OnLine(from, to, one.counted).value);
    return std::abs(when - static_cast<long double>(one.monotonic.value)) <= unsure;
  });
}

void ClockFit::Settle(const Reading& from, const Reading& to) {
  if (pieces_.size() >= kMostClockPieces) {
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
  return pieces_.size() > 1 ? seen_ + kLateCounts
                            : Nanos(kLast);  // later counts may belong to the time before the step
}

// Uses the last piece that covers the time. After the clock was set back, that is the later piece for counts that occur
// twice: it cannot be known which of the two times is right.
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
