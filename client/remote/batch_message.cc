#include "client/remote/batch_message.h"

#include <google/protobuf/util/time_util.h>

#include "daemon/trace/state_name.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

constexpr int kMostParts = 256;  // our servers never split a batch into more
constexpr uint32_t kNowhere = UINT32_MAX;

}  // namespace

std::optional<SampleBatch> BatchAssembly::Add(const v1::SampleBatch& message) {
  AddFrames(message);
  AddStacks(message);
  AddProcesses(message);
  AddCounters(message);
  for (const v1::SampledThread& thread : message.threads()) {
    AddThread(thread);
  }
  if (message.more() && ++parts_ < kMostParts) {
    return std::nullopt;
  }
  batch_.begin = Nanos(TimeUtil::TimestampToNanoseconds(message.begin()));
  batch_.end = Nanos(TimeUtil::TimestampToNanoseconds(message.end()));
  SampleBatch whole = std::move(batch_);
  *this = BatchAssembly();
  return whole;
}

uint32_t BatchAssembly::String(const std::string& text) {
  const auto [known, is_new] = strings_.emplace(text, static_cast<uint32_t>(batch_.strings.size()));
  if (is_new) {
    batch_.strings.push_back(text);
  }
  return known->second;
}

void BatchAssembly::AddFrames(const v1::SampleBatch& message) {
  for (const v1::SampledFrame& frame : message.frames()) {
    batch_.frames.push_back({.function = String(frame.function()),
                             .file = String(frame.file()),
                             .line = frame.line(),
                             .first_line = frame.first_line(),
                             .kind = frame.is_marker() ? FrameKind::kMarker : FrameKind::kPython});
  }
}

void BatchAssembly::AddProcesses(const v1::SampleBatch& message) {
  for (const v1::SampledProcess& process : message.processes()) {
    batch_.processes.push_back({.pid = Pid(process.pid()),
                                .parent_pid = Pid(process.parent_pid()),
                                .name = process.name(),
                                .command = process.command(),
                                .python = process.python_version()});
  }
}

// Counters come once, with the last message. Adds what was lost on the way here.
void BatchAssembly::AddCounters(const v1::SampleBatch& message) {
  const v1::SampleCounters& from = message.counters();
  SampleBatch::Counters& to = batch_.counters;
  to.samples += from.samples();
  to.by_quality[static_cast<size_t>(SampleQuality::kTruncated)] += from.truncated();
  to.by_quality[static_cast<size_t>(SampleQuality::kTooDeep)] += from.too_deep();
  to.by_quality[static_cast<size_t>(SampleQuality::kTorn)] += from.torn();
  to.by_quality[static_cast<size_t>(SampleQuality::kStaleNames)] += from.stale_names();
  uint64_t marked = 0;
  for (const SampleQuality quality :
       {SampleQuality::kTruncated, SampleQuality::kTooDeep, SampleQuality::kTorn, SampleQuality::kStaleNames}) {
    marked += to.by_quality[static_cast<size_t>(quality)];
  }
  to.by_quality[static_cast<size_t>(SampleQuality::kSeen)] = to.samples - std::min(marked, to.samples);
  to.thinned += message.thinned();
  to.lost += from.lost();
  to.missed += from.missed_rounds();
  to.collector_cpu = to.collector_cpu + Nanos(TimeUtil::DurationToNanoseconds(from.collector_cpu_time()));
  to.actual_rate_hz = from.actual_rate_hz();
}

// A stack whose parent is invalid is invalid too, but keeps its number.
void BatchAssembly::AddStacks(const v1::SampleBatch& message) {
  for (const v1::SampledStack& stack : message.stacks()) {
    const std::optional<uint32_t> parent = Stack(stack.parent());
    const bool makes_sense = parent.has_value() && stack.frame() < batch_.frames.size();
    if (makes_sense) {
      batch_.stacks.push_back({.parent = *parent, .frame = stack.frame()});
    }
    stacks_.push_back(makes_sense ? static_cast<uint32_t>(batch_.stacks.size()) : kNowhere);
  }
}

std::optional<uint32_t> BatchAssembly::Stack(uint32_t number) const {
  if (number == 0) {
    return 0;
  }
  return number > stacks_.size() || stacks_[number - 1] == kNowhere ? std::nullopt : std::optional(stacks_[number - 1]);
}

SampleBatch::Thread& BatchAssembly::ThreadOf(const v1::SampledThread& from) {
  const auto [known, is_new] = threads_.emplace(std::pair(Pid(from.pid()), Tid(from.tid())), batch_.threads.size());
  if (is_new) {
    batch_.threads.push_back({.pid = Pid(from.pid()),
                              .tid = Tid(from.tid()),
                              .name = from.name(),
                              .is_main = from.is_main(),
                              .state = StateNamed(from.state()),
                              .holds_gil = from.holds_gil(),
                              .gil_time = {},
                              .stacks = {}});
  }
  return batch_.threads[known->second];
}

void BatchAssembly::AddThread(const v1::SampledThread& from) {
  SampleBatch::Thread& thread = ThreadOf(from);
  thread.gil_time = thread.gil_time + Nanos(TimeUtil::DurationToNanoseconds(from.gil_time()));
  for (int i = 0; i < from.stacks_size(); ++i) {
    const auto stack = Stack(from.stacks(i));
    const uint64_t count = i < from.counts_size() ? from.counts(i) : 0;
    if (stack.has_value()) {
      thread.stacks.push_back({.stack = *stack, .count = count});
    } else {
      batch_.counters.lost += count;
    }
  }
}

}  // namespace ptrace_prof
