#include "daemon/export/span_feed.h"

#include <algorithm>
#include <limits>
#include <string>

namespace ptrace_prof {
namespace {

constexpr int64_t kLongGap = 2;  // intervals: more than that, and rounds went by in which the thread was left out
constexpr Nanos kMinInterval{2'000};
constexpr Nanos kMaxInterval = Nanos::FromSeconds(10);
constexpr Nanos kMaxTime{std::numeric_limits<int64_t>::max() / 4};  // leaves room for sums
constexpr size_t kMaxComingStates = 64 * 1024;
constexpr uint32_t kMaxTracks = 1u << 22;

Nanos Bounded(Nanos time) { return std::clamp(time, Nanos(0), kMaxTime); }

}  // namespace

void SpanFeed::OnRequest(const CaptureRequest& request) {
  if (!recording_.request) {
    recording_.request = request;
  }
  if (request.rate_hz > 0) {
    interval_ = std::clamp(Nanos::FromSeconds(1 / request.rate_hz), kMinInterval, kMaxInterval);
  }
  previous_.reset();
}

void SpanFeed::OnProcess(const ProcessInfo& process) { recording_.processes[process.pid] = process; }

bool SpanFeed::Selected(const ThreadInfo& thread) const {
  const auto& pids = options_.processes;
  if (!pids.empty() && std::find(pids.begin(), pids.end(), thread.pid) == pids.end()) {
    return false;
  }
  const auto is_this = [&](const std::string& wanted) {
    return wanted == thread.name || wanted == std::to_string(thread.tid.value);
  };
  return options_.threads.empty() || std::any_of(options_.threads.begin(), options_.threads.end(), is_this);
}

void SpanFeed::OnThread(TrackId track, const ThreadInfo& thread) {
  if (track.value >= kMaxTracks) {
    return;
  }
  if (track.value >= recording_.threads.size()) {
    recording_.threads.resize(track.value + 1);
    tracks_.resize(track.value + 1);
  }
  RecordedThread& known = recording_.threads[track.value];
  known.info = thread;
  known.selected = Selected(thread);
}

ThreadState SpanFeed::StateAt(Track& track, Nanos when) {
  while (!track.coming.empty() && track.coming.front().when <= when) {
    track.state = track.coming.front().state;
    track.coming.pop_front();
  }
  return track.state;
}

void SpanFeed::OnState(TrackId track, Nanos when, const StateInfo& state) {
  if (track.value >= tracks_.size()) {
    return;
  }
  auto& coming = tracks_[track.value].coming;
  if (coming.size() == kMaxComingStates) {
    coming.pop_front();
  }
  coming.push_back({Bounded(when), state.state});
}

void SpanFeed::Close(Track& track, Nanos end) {
  if (track.open.samples > 0 && sink_ != nullptr) {
    track.open.end = std::max(end, track.open.start);
    sink_->OnSpan(track.open);
  }
  track.open.samples = 0;
}

void SpanFeed::Count(RecordedThread& thread, Nanos when, SampleQuality quality) {
  if (thread.samples++ == 0) {
    thread.first = when;
  }
  thread.last = when;
  recording_.first = recording_.samples == 0 ? when : std::min(recording_.first, when);
  recording_.last = std::max(recording_.last, when);
  ++recording_.samples;
  ++recording_.by_quality[std::min(static_cast<size_t>(quality), kSampleQualityCount - 1)];
}

void SpanFeed::OnSample(TrackId id, Nanos when, StackId stack, SampleQuality quality) {
  if (id.value >= tracks_.size()) {
    return;  // the reader tells of a thread before its samples
  }
  Track& track = tracks_[id.value];
  when = std::max(Bounded(when), track.last);
  const ThreadState state = StateAt(track, when);
  const bool left_out = !recording_.threads[id.value].selected || (options_.no_idle && state == ThreadState::kIdle);
  const bool gap = when - track.last > Nanos(interval_.value * kLongGap);
  Span& open = track.open;
  if (left_out || gap || open.stack != stack || open.quality != quality || open.state != state ||
      open.samples == std::numeric_limits<uint32_t>::max()) {
    Close(track, gap ? track.last + interval_ : when);
  }
  track.last = when;
  if (left_out) {
    ++recording_.filtered;
    return;
  }
  Count(recording_.threads[id.value], when, quality);
  if (open.samples == 0) {
    open = Span{.track = id, .start = when, .stack = stack, .quality = quality, .state = state};
  }
  ++open.samples;
}

void SpanFeed::OnAccounting(const Accounting& now) {
  if (previous_ && now.rounds > previous_->rounds && now.wall > previous_->wall) {
    const double wall = (now.wall - previous_->wall).seconds();
    interval_ = std::clamp(Nanos::FromSeconds(wall / static_cast<double>(now.rounds - previous_->rounds)), kMinInterval,
                           kMaxInterval);
  }
  previous_ = now;
  recording_.accounting = now;
}

void SpanFeed::OnEnd(const EndInfo& end) { recording_.end = end; }

void SpanFeed::Finish() {
  for (Track& track : tracks_) {
    Close(track, track.last + interval_);
  }
}

}  // namespace ptrace_prof
