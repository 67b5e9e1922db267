#include "client/remote/batch_message.h"

#include <google/protobuf/util/time_util.h>

#include <map>
#include <utility>

#include "daemon/trace/state_name.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

class BatchBuilder {
 public:
  explicit BatchBuilder(const v1::SampleBatch& message) : message_(message) {}

  SampleBatch Build() {
    batch_.begin = Nanos(TimeUtil::TimestampToNanoseconds(message_.begin()));
    batch_.end = Nanos(TimeUtil::TimestampToNanoseconds(message_.end()));
    AddFrames();
    AddProcesses();
    AddCounters();
    for (const v1::SampledThread& thread : message_.threads()) {
      AddThread(thread);
    }
    return std::move(batch_);
  }

 private:
  uint32_t String(const std::string& text) {
    const auto [known, is_new] = strings_.emplace(text, static_cast<uint32_t>(batch_.strings.size()));
    if (is_new) {
      batch_.strings.push_back(text);
    }
    return known->second;
  }

  void AddFrames() {
    for (const v1::SampledFrame& frame : message_.frames()) {
      batch_.frames.push_back({.function = String(frame.function()),
                               .file = String(frame.file()),
                               .line = frame.line(),
                               .first_line = frame.first_line(),
                               .kind = frame.is_marker() ? FrameKind::kMarker : FrameKind::kPython});
    }
  }

  void AddProcesses() {
    for (const v1::SampledProcess& process : message_.processes()) {
      batch_.processes.push_back({.pid = Pid(process.pid()),
                                  .parent_pid = Pid(process.parent_pid()),
                                  .name = process.name(),
                                  .command = process.command(),
                                  .python = process.python_version()});
    }
  }

  void AddCounters() {
    const v1::SampleCounters& from = message_.counters();
    SampleBatch::Counters& to = batch_.counters;
    to.samples = from.samples();
    to.by_quality[static_cast<size_t>(SampleQuality::kVerified)] = from.verified();
    to.by_quality[static_cast<size_t>(SampleQuality::kStopped)] = from.stopped();
    to.by_quality[static_cast<size_t>(SampleQuality::kTruncated)] = from.truncated();
    to.by_quality[static_cast<size_t>(SampleQuality::kTooDeep)] = from.too_deep();
    to.thinned = message_.thinned();
    to.lost = from.lost();
    to.missed = from.missed_rounds();
    to.collector_cpu = Nanos(TimeUtil::DurationToNanoseconds(from.collector_cpu_time()));
    to.actual_rate_hz = from.actual_rate_hz();
  }

  // The number of a stack in the batch; nothing if it makes no sense.
  std::optional<uint32_t> Stack(uint32_t index) {
    if (index >= static_cast<uint32_t>(message_.stacks_size())) {
      return std::nullopt;
    }
    const auto& frames = message_.stacks(static_cast<int>(index)).frames();
    uint32_t stack = 0;
    for (int i = frames.size() - 1; i >= 0; --i) {
      if (frames[i] >= batch_.frames.size()) {
        return std::nullopt;
      }
      const auto [known, is_new] =
          stacks_.emplace(std::pair(stack, frames[i]), static_cast<uint32_t>(batch_.stacks.size() + 1));
      if (is_new) {
        batch_.stacks.push_back({.parent = stack, .frame = frames[i]});
      }
      stack = known->second;
    }
    return stack;
  }

  void AddThread(const v1::SampledThread& from) {
    SampleBatch::Thread thread{.pid = Pid(from.pid()),
                               .tid = Tid(from.tid()),
                               .name = from.name(),
                               .is_main = from.is_main(),
                               .state = StateNamed(from.state()),
                               .holds_gil = from.holds_gil(),
                               .gil_time = Nanos(TimeUtil::DurationToNanoseconds(from.gil_time())),
                               .stacks = {}};
    for (int i = 0; i < from.stacks_size(); ++i) {
      const auto stack = Stack(from.stacks(i));
      const uint64_t count = i < from.counts_size() ? from.counts(i) : 0;
      if (stack.has_value()) {
        thread.stacks.push_back({.stack = *stack, .count = count});
      } else {
        batch_.counters.lost += count;
      }
    }
    batch_.threads.push_back(std::move(thread));
  }

  const v1::SampleBatch& message_;
  SampleBatch batch_;
  std::map<std::string, uint32_t> strings_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;
};

}  // namespace

SampleBatch BatchOf(const v1::SampleBatch& message) { return BatchBuilder(message).Build(); }

}  // namespace ptrace_prof
