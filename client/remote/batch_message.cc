#include "client/remote/batch_message.h"

#include <google/protobuf/util/time_util.h>

#include "daemon/trace/state_name.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

constexpr int kMostParts = 256;  // more than any server of ours makes of one batch

}  // namespace

std::optional<SampleBatch> BatchAssembly::Add(const v1::SampleBatch& message) {
  AddFrames(message);
  AddProcesses(message);
  AddCounters(message);
  for (const v1::SampledThread& thread : message.threads()) {
    AddThread(message, thread);
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
  first_frame_ = static_cast<uint32_t>(batch_.frames.size());
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

// They come once, with the last message; what was lost on the way here is added to them.
void BatchAssembly::AddCounters(const v1::SampleBatch& message) {
  const v1::SampleCounters& from = message.counters();
  SampleBatch::Counters& to = batch_.counters;
  to.samples += from.samples();
  to.by_quality[static_cast<size_t>(SampleQuality::kVerified)] += from.verified();
  to.by_quality[static_cast<size_t>(SampleQuality::kStopped)] += from.stopped();
  to.by_quality[static_cast<size_t>(SampleQuality::kTruncated)] += from.truncated();
  to.by_quality[static_cast<size_t>(SampleQuality::kTooDeep)] += from.too_deep();
  to.by_quality[static_cast<size_t>(SampleQuality::kUnverified)] += from.unverified();
  to.thinned += message.thinned();
  to.lost += from.lost();
  to.missed += from.missed_rounds();
  to.collector_cpu = to.collector_cpu + Nanos(TimeUtil::DurationToNanoseconds(from.collector_cpu_time()));
  to.actual_rate_hz = from.actual_rate_hz();
}

std::optional<uint32_t> BatchAssembly::Stack(const v1::SampleBatch& message, uint32_t index) {
  if (index >= static_cast<uint32_t>(message.stacks_size())) {
    return std::nullopt;
  }
  const auto& frames = message.stacks(static_cast<int>(index)).frames();
  uint32_t stack = 0;
  for (int i = frames.size() - 1; i >= 0; --i) {
    if (frames[i] >= static_cast<uint32_t>(message.frames_size())) {
      return std::nullopt;
    }
    const uint32_t frame = first_frame_ + frames[i];
    const auto [known, is_new] =
        stacks_.emplace(std::pair(stack, frame), static_cast<uint32_t>(batch_.stacks.size() + 1));
    if (is_new) {
      batch_.stacks.push_back({.parent = stack, .frame = frame});
    }
    stack = known->second;
  }
  return stack;
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

void BatchAssembly::AddThread(const v1::SampleBatch& message, const v1::SampledThread& from) {
  SampleBatch::Thread& thread = ThreadOf(from);
  thread.gil_time = thread.gil_time + Nanos(TimeUtil::DurationToNanoseconds(from.gil_time()));
  for (int i = 0; i < from.stacks_size(); ++i) {
    const auto stack = Stack(message, from.stacks(i));
    const uint64_t count = i < from.counts_size() ? from.counts(i) : 0;
    if (stack.has_value()) {
      thread.stacks.push_back({.stack = *stack, .count = count});
    } else {
      batch_.counters.lost += count;
    }
  }
}

}  // namespace ptrace_prof
