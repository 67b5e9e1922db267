#include "daemon/collector/gpu/gpu_clock.h"

#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxPieces = 4096;          // a target may invent pairs
constexpr int64_t kBefore = 60'000'000'000;  // ns: work launched before the capture may have begun that much earlier
constexpr int64_t kAfter = 1'000'000'000;    // ns: what CUPTI makes of the GPU's clock is an estimate
constexpr int64_t kMostUnsure = int64_t{1} << 60;
constexpr int64_t kWidest = 1'000'000'000;  // ns: wider pairs are useless

// Hostile numbers wrap around.
Nanos Sum(Nanos a, Nanos b) {
  return Nanos(static_cast<int64_t>(static_cast<uint64_t>(a.value) + static_cast<uint64_t>(b.value)));
}
Nanos Difference(Nanos a, Nanos b) {
  return Nanos(static_cast<int64_t>(static_cast<uint64_t>(a.value) - static_cast<uint64_t>(b.value)));
}
uint64_t Distance(Nanos a, Nanos b) {
  return a > b ? static_cast<uint64_t>(a.value) - static_cast<uint64_t>(b.value)
               : static_cast<uint64_t>(b.value) - static_cast<uint64_t>(a.value);
}

}  // namespace

void GpuClock::AddPair(Nanos realtime, Nanos monotonic, Nanos width) {
  const Nanos offset = Difference(monotonic, realtime);
  if (width.value < 0 || width.value > kWidest) {
    return;
  }
  if (fit_.has_value()) {
    monotonic_.Take(monotonic);
    last_pair_ = std::max(last_pair_, monotonic);
    fit_->Add(static_cast<uint64_t>(realtime.value), monotonic, width);
    return;
  }
  Saw(realtime, monotonic);
  const Nanos between(
      std::clamp<int64_t>(Difference(monotonic, std::exchange(last_pair_, monotonic)).value, 0, kBefore));
  if (pieces_.empty()) {
    pieces_.push_back({realtime, offset, width});
    return;
  }
  Piece& last = pieces_.back();
  const auto unsure = static_cast<uint64_t>(kPairNoise + width.value + last.width.value);
  if (Distance(offset, last.offset) > unsure) {
    ++steps_;
    unsure_ = Nanos(std::min<int64_t>(unsure_.value + between.value, kMostUnsure));
    if (pieces_.size() < kMaxPieces) {
      pieces_.push_back({realtime, offset, width});
    } else {
      last = {realtime, offset, width};
    }
  } else if (width < last.width) {
    last.offset = offset;
    last.width = width;
  }
}

void GpuClock::Saw(Nanos realtime, Nanos monotonic) {
  realtime_.Take(realtime);
  monotonic_.Take(monotonic);
}

bool GpuClock::IsPossible(uint64_t time) const {
  const bool is_ours = is_identity_ || fit_.has_value();
  const Span& span = is_ours ? monotonic_ : realtime_;
  if (fit_.has_value()) {
    const std::optional<Nanos> when = fit_->At(time);
    if (!when.has_value()) {
      return false;
    }
    time = when->value < 0 ? UINT64_MAX : static_cast<uint64_t>(when->value);
  }
  if (span.first > span.last) {
    return true;
  }
  const auto first = static_cast<uint64_t>(std::max<int64_t>(span.first - std::min(span.first, kBefore), 0));
  const auto last = static_cast<uint64_t>(std::max<int64_t>(span.last, 0)) + static_cast<uint64_t>(kAfter);
  return time >= first && time <= last;
}

Nanos GpuClock::unsure() const {
  if (!fit_.has_value()) {
    return unsure_;
  }
  return fit_->is_known() ? std::min(fit_->unsure(), Nanos(kMostUnsure)) : Nanos(kMostUnsure);
}

// Uses the last piece that had begun. After the clock was set back, that is the earlier piece for times that occur
// twice: it cannot be known which of the two is right.
Nanos GpuClock::ToMonotonic(uint64_t time) const {
  if (fit_.has_value()) {
    return fit_->At(time).value_or(Nanos());
  }
  const Nanos at(static_cast<int64_t>(time));
  if (is_identity_ || pieces_.empty()) {
    return at;
  }
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (at >= piece->from) {
      return Sum(at, piece->offset);
    }
  }
  return Sum(at, pieces_.front().offset);
}

}  // namespace ptrace_prof
