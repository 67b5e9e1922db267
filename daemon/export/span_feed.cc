#include "daemon/export/span_feed.h"

#include <algorithm>
#include <limits>
#include <string>

#include "daemon/trace/accounting_sum.h"
#include "rpc/messages/metadata.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kLongGap = 2;  // intervals: after a longer gap, rounds have left the thread out
constexpr Nanos kMinInterval{2'000};
constexpr Nanos kMaxInterval = Nanos::FromSeconds(10);
constexpr Nanos kMaxTime{std::numeric_limits<int64_t>::max() / 4};  // leaves room for sums
constexpr size_t kMaxComingStates = 64 * 1024;
constexpr uint32_t kMaxTracks = 1u << 22;
constexpr size_t kMaxGpuDevices = 1024;
constexpr size_t kMaxGpuQueues = 64 * 1024;
constexpr size_t kMaxCounters = 512;  // each takes up to 48 KiB
constexpr size_t kMaxMarkedSteps = size_t{1} << 20;

Nanos Bounded(Nanos time) { return std::clamp(time, Nanos(0), kMaxTime); }

}  // namespace

// Resets per-capture state, so that the next capture in the file does not inherit it.
void SpanFeed::EndCapture() {
  earlier_ = recording_.accounting;
  recording_.cut = recording_.cut || !recording_.end;
  if (recording_.end && !recording_.end->message.empty()) {
    OnNotice(Nanos(), recording_.end->message);
  }
  recording_.end.reset();
}

void SpanFeed::OnRequest(const CaptureTask& request) {
  if (recording_.captures++ > 0) {
    EndCapture();
  }
  if (!recording_.request) {
    recording_.request = request;
  }
  AddMetadata(request.spec(), recording_.metadata);
  if (const double rate = RateOf(request.spec().sample()); rate > 0) {
    interval_ = std::clamp(Nanos::FromSeconds(1 / std::clamp(rate, 0.001, kMostRateHz)), kMinInterval, kMaxInterval);
  }
  previous_.reset();
}

void SpanFeed::OnStart(Nanos realtime, Nanos monotonic) {
  if (!recording_.clock_offset) {
    recording_.clock_offset = Bounded(realtime) - Bounded(monotonic);
  }
}

void SpanFeed::OnProcess(const ProcessInfo& process) {
  recording_.processes[process.pid] = process;
  recording_.started.emplace(process.pid, process.start_time);
}

bool SpanFeed::Selected(Pid pid) const {
  const auto& pids = options_.processes;
  return pids.empty() || std::find(pids.begin(), pids.end(), pid) != pids.end();
}

bool SpanFeed::Selected(const ThreadInfo& thread) const {
  if (!Selected(thread.pid)) {
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
    return;  // the reader announces a thread before its samples
  }
  Track& track = tracks_[id.value];
  when = std::max(Bounded(when), track.last);
  const ThreadState state = StateAt(track, when);
  const bool left_out = !recording_.threads[id.value].selected ||
                        (options_.no_idle && (state == ThreadState::kIdle || state == ThreadState::kJobStopped));
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
  if (sink_ != nullptr) {
    sink_->OnSample(id, when, stack);
  }
  if (open.samples == 0) {
    open = Span{.track = id, .start = when, .stack = stack, .quality = quality, .state = state};
  }
  ++open.samples;
}

// Ends the span of the call that ran so far; false if the thread is left out.
bool SpanFeed::NextCallSpan(TrackId id, Nanos& when, std::optional<CallExit> exit) {
  if (id.value >= tracks_.size()) {
    return false;  // the reader announces a thread before its calls
  }
  Track& track = tracks_[id.value];
  when = track.last = std::max(Bounded(when), track.last);
  if (!recording_.threads[id.value].selected) {
    return false;
  }
  const bool says_something = track.open.samples > 0 || exit || when > track.open.start;
  if (track.in_call && sink_ != nullptr && says_something) {
    track.open.end = when;
    track.open.ends = exit.has_value();
    track.open.exit = exit.value_or(CallExit::kReturn);
    sink_->OnSpan(track.open);
  }
  track.in_call = false;
  track.open.samples = 0;
  RecordedThread& thread = recording_.threads[id.value];
  if (thread.samples == 0) {
    thread.first = when;
  }
  thread.last = when;
  recording_.first = recording_.samples == 0 ? when : std::min(recording_.first, when);
  recording_.last = std::max(recording_.last, when);
  return true;
}

void SpanFeed::OnCallBegin(TrackId id, Nanos when, StackId stack, CallEntry entry, GeneratorId) {
  recording_.exact = true;
  if (!NextCallSpan(id, when, std::nullopt)) {
    ++recording_.filtered;
    return;
  }
  ++recording_.threads[id.value].samples;
  ++recording_.samples;
  recording_.calls += IsNewCall(entry) ? 1 : 0;
  Track& track = tracks_[id.value];
  track.open = Span{.track = id, .start = when, .stack = stack, .samples = 1, .entry = entry};
  track.open.state = StateAt(track, when);
  track.in_call = true;
}

void SpanFeed::OnCallEnd(TrackId id, Nanos when, StackId stack, CallExit exit) {
  if (!NextCallSpan(id, when, exit) || stacks_ == nullptr) {
    return;
  }
  const StackId caller = stacks_->parent(stack);
  Track& track = tracks_[id.value];
  track.open = Span{.track = id, .start = when, .stack = caller};
  track.open.state = StateAt(track, when);
  track.in_call = caller != kEmptyStack;
}

void SpanFeed::OnStep(TrackId track, Nanos begin, Nanos end, uint64_t number) {
  if (recording_.steps.size() < kMaxMarkedSteps && track.value < tracks_.size()) {
    recording_.steps.push_back({track, Bounded(begin), Bounded(end), number});
  }
}

void SpanFeed::OnGpuDevice(const GpuDevice& device) {
  if (recording_.gpu_devices.size() < kMaxGpuDevices) {
    recording_.gpu_devices.push_back(device);
  }
}

void SpanFeed::OnGpuQueue(GpuQueueId id, const GpuQueue& queue) {
  if (id.value < kMaxGpuQueues) {
    recording_.gpu_queues.resize(std::max<size_t>(recording_.gpu_queues.size(), id.value + 1));
    recording_.gpu_queues[id.value] = queue;
  }
}

void SpanFeed::OnGpuOperation(GpuQueueId id, const GpuOperation& operation) {
  if (gpu_sink_ == nullptr || id.value >= recording_.gpu_queues.size() ||
      !Selected(recording_.gpu_queues[id.value].pid)) {
    return;
  }
  GpuOperation bounded = operation;
  bounded.begin = Bounded(operation.begin);
  bounded.end = std::max(Bounded(operation.end), bounded.begin);
  bounded.launched = Bounded(operation.launched);
  ++recording_.gpu_operations;
  recording_.gpu_first = recording_.gpu_operations == 1 ? bounded.begin : std::min(recording_.gpu_first, bounded.begin);
  recording_.gpu_last = std::max(recording_.gpu_last, bounded.end);
  gpu_sink_->OnGpuOperation(id, bounded);
}

void SpanFeed::OnGpuApiCall(TrackId track, const GpuApiCall& call) {
  if (gpu_sink_ == nullptr || track.value >= tracks_.size() || !recording_.threads[track.value].selected) {
    return;
  }
  GpuApiCall bounded = call;
  bounded.begin = Bounded(call.begin);
  bounded.end = std::max(Bounded(call.end), bounded.begin);
  gpu_sink_->OnGpuApiCall(track, bounded);
}

void SpanFeed::OnGpuAnnotation(TrackId track, const GpuAnnotation& annotation) {
  if (gpu_sink_ == nullptr || track.value >= tracks_.size() || !recording_.threads[track.value].selected) {
    return;
  }
  GpuAnnotation bounded = annotation;
  bounded.begin = Bounded(annotation.begin);
  bounded.end = std::max(Bounded(annotation.end), bounded.begin);
  gpu_sink_->OnGpuAnnotation(track, bounded);
}

void SpanFeed::OnOperator(TrackId track, const Operator& one) {
  if (gpu_sink_ == nullptr || track.value >= tracks_.size() || !recording_.threads[track.value].selected) {
    return;
  }
  Operator bounded = one;
  bounded.begin = Bounded(one.begin);
  bounded.end = std::max(Bounded(one.end), bounded.begin);
  ++recording_.operators;
  gpu_sink_->OnOperator(track, bounded);
}

void SpanFeed::OnAllocation(TrackId track, const Allocation& one) {
  if (gpu_sink_ == nullptr || track.value >= tracks_.size() || !recording_.threads[track.value].selected) {
    return;
  }
  Allocation bounded = one;
  bounded.when = Bounded(one.when);
  gpu_sink_->OnAllocation(track, bounded);
}

void SpanFeed::OnHeldTensor(const HeldTensor& tensor) {
  if (gpu_sink_ != nullptr && Selected(tensor.pid)) {
    HeldTensor bounded = tensor;
    bounded.when = Bounded(tensor.when);
    gpu_sink_->OnHeldTensor(bounded);
  }
}

void SpanFeed::OnExecutionTrace(Pid pid, std::string_view piece) {
  if (gpu_sink_ != nullptr && Selected(pid)) {
    gpu_sink_->OnExecutionTrace(pid, piece);
  }
}

void SpanFeed::OnGpuAccounting(const GpuAccounting& accounting) {
  if (Selected(accounting.pid)) {
    recording_.gpu_accounting[{recording_.captures, accounting.pid}] = accounting;
  }
}

void SpanFeed::OnCounter(CounterId id, const CounterInfo& info) {
  if (id.value == recording_.counters.size() && id.value < kMaxCounters) {
    recording_.counters.emplace_back().info = info;
  }
}

void SpanFeed::OnCount(CounterId id, Nanos when, int64_t value) {
  if (id.value < recording_.counters.size()) {
    recording_.counters[id.value].Add(Bounded(when), value);
  }
}

void SpanFeed::OnAccounting(const Accounting& now) {
  if (previous_ && now.rounds > previous_->rounds && now.wall > previous_->wall) {
    const double wall = (now.wall - previous_->wall).seconds();
    interval_ = std::clamp(Nanos::FromSeconds(wall / static_cast<double>(now.rounds - previous_->rounds)), kMinInterval,
                           kMaxInterval);
  }
  previous_ = now;
  recording_.accounting = earlier_ ? SumOf(*earlier_, now) : now;
  recording_.costs_differ = earlier_ && earlier_->event_cost_ns != now.event_cost_ns;
}

void SpanFeed::OnNotice(Nanos, std::string_view text) {
  if (recording_.notices.size() < kMaxNotices) {
    recording_.notices.emplace_back(text);
  }
}

void SpanFeed::OnEnd(const EndInfo& end) { recording_.end = end; }

void SpanFeed::Finish() {
  if (recording_.gpu_operations > 0) {
    recording_.first =
        recording_.samples == 0 ? recording_.gpu_first : std::min(recording_.first, recording_.gpu_first);
  }
  for (uint32_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].in_call) {
      Nanos when = tracks_[i].last;
      NextCallSpan(TrackId(i), when, std::nullopt);
    } else {
      Close(tracks_[i], tracks_[i].last + interval_);
    }
  }
}

}  // namespace ptrace_prof
