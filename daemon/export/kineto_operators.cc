#include "daemon/export/kineto_operators.h"

#include <tuple>

#include "attach/base/clean_text.h"
#include "daemon/trace/gpu_vocabulary.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostPairs = 1 << 20;
constexpr size_t kMostHeldRanges = 1 << 18;
constexpr std::string_view kEvaluates = "autograd::engine::evaluate_function: ";
constexpr std::string_view kArrow = "fwdbwd";

uint64_t KeyOf(uint32_t thread, int64_t sequence) {
  return uint64_t{thread} << 40 | (static_cast<uint64_t>(sequence) & 0xff'ffff'ffff);
}

bool TracesCalls(const Recording& recording) {
  return recording.request.has_value() && MayTrace(recording.request->spec().mode());
}

}  // namespace

// Several operators may have one number. The last forward one is meant: the others call it, or are views before it.
// The first backward one is meant.
void KinetoOperators::Link(TrackId track, const Operator& one) {
  if (one.sequence < 0 || pairs_.size() >= kMostPairs) {
    return;
  }
  const bool is_backward = one.forward_thread != 0;
  if (!is_backward && one.scope != OperatorScope::kFunction) {
    return;
  }
  Pair& pair = pairs_[KeyOf(is_backward ? one.forward_thread : one.thread, one.sequence)];
  Place& place = is_backward ? pair.backward : pair.forward;
  bool& has = is_backward ? pair.has_backward : pair.has_forward;
  const bool is_better = !has || (is_backward ? one.begin < place.begin : one.begin > place.begin);
  if (is_better) {
    has = true;
    place = {track.value, one.begin};
  }
}

void KinetoOperators::OnOperator(TrackId track, const Operator& given) {
  Operator one = given;
  if (one.sequence < 0) {
    one.forward_thread = 0;
  }
  LastBackward& last = last_backward_[track.value];
  if (one.scope == OperatorScope::kBackwardFunction) {
    last = {one.begin, one.end, one.sequence, one.forward_thread};
  } else if (one.name.starts_with(kEvaluates) && last.begin >= one.begin && last.end <= one.end) {
    one.sequence = last.sequence;
    one.forward_thread = last.forward_thread;
  }
  Link(track, one);
  if (!writer_.TakeRoom(one.begin)) {
    return;
  }
  if (one.is_range() && !one.is_async && TracesCalls(context_.recording) && held_.size() < kMostHeldRanges) {
    held_.push_back({track, one, one.inputs != nullptr ? std::optional(*one.inputs) : std::nullopt});
    return;
  }
  Write(track, one);
}

void KinetoOperators::Write(TrackId track, const Operator& one) {
  const ThreadInfo& thread = context_.recording.threads[track.value].info;
  const std::string name = CleanText(one.name);
  writer_.Start({thread.pid.value, thread.tid.value}, one.is_range() ? "user_annotation" : "cpu_op",
                name.empty() ? "[unreadable name]" : name, one.begin, one.end);
  json_.Name("args");
  json_.StartObject();
  json_.Member("External id", static_cast<int64_t>(++count_));
  if (!one.is_range() && !one.is_async && MayHaveGpu(context_.recording)) {
    links_.Add({thread.pid.value, thread.tid.value}, one.begin, one.end, count_);
  }
  json_.Member("Record function id", static_cast<int64_t>(one.handle));
  if (one.sequence >= 0) {
    json_.Member("Sequence number", one.sequence);
    json_.Member("Fwd thread id", int64_t{one.forward_thread});
  }
  if (one.inputs != nullptr) {
    has_inputs_ = true;
    WriteInputs(*one.inputs);
  }
  json_.Member("Ev Idx", static_cast<int64_t>(index_++));
  if (one.ending != OperatorEnd::kSeen) {
    json_.Member("finished", false);
  }
  json_.EndObject();
  json_.EndObject();
}

void KinetoOperators::OnAllocation(TrackId track, const Allocation& one) {
  if (one.was_there || !writer_.TakeRoom(one.when)) {
    return;
  }
  has_memory_ = true;
  const ThreadInfo& thread = context_.recording.threads[track.value].info;
  writer_.StartMark({thread.pid.value, thread.tid.value}, "cpu_instant_event", kAllocationName, one.when);
  json_.Name("args");
  json_.StartObject();
  const std::pair<std::string_view, int64_t> members[] = {{"Total Reserved", static_cast<int64_t>(one.reserved)},
                                                          {"Total Allocated", static_cast<int64_t>(one.allocated)},
                                                          {"Bytes", one.bytes},
                                                          {"Addr", static_cast<int64_t>(one.address)},
                                                          {"Device Id", one.device.index},
                                                          {"Device Type", one.device.type},
                                                          {"Ev Idx", static_cast<int64_t>(index_++)}};
  for (const auto& [name, value] : members) {
    json_.Member(name, value);
  }
  json_.EndObject();
  json_.EndObject();
}

void KinetoOperators::WriteInputs(const OperatorInputs& inputs) {
  const std::pair<std::string_view, const std::string&> members[] = {{"Concrete Inputs", inputs.values},
                                                                     {"Input type", inputs.types},
                                                                     {"Input Strides", inputs.strides},
                                                                     {"Input Dims", inputs.sizes}};
  for (const auto& [name, text] : members) {
    if (IsJson(text, '[')) {
      json_.Name(name);
      json_.RawValue(text.data(), text.size(), rapidjson::kArrayType);
    }
  }
}

void KinetoOperators::Finish() {
  for (HeldRange& range : held_) {
    const ThreadInfo& thread = context_.recording.threads[range.track.value].info;
    range.one.inputs = range.inputs.has_value() ? &*range.inputs : nullptr;
    std::tie(range.one.begin, range.one.end) =
        edges_.Fit({thread.pid.value, thread.tid.value}, range.one.begin, range.one.end);
    Write(range.track, range.one);
  }
  uint64_t id = 0;
  for (const auto& [key, pair] : pairs_) {
    if (!pair.has_forward || !pair.has_backward || !writer_.TakeRoom(pair.forward.begin)) {
      continue;
    }
    ++id;
    const auto write = [&](const Place& place, std::string_view phase) {
      const ThreadInfo& thread = context_.recording.threads[place.track].info;
      writer_.Flow({thread.pid.value, thread.tid.value}, phase, kArrow, id, place.begin);
    };
    write(pair.forward, "s");
    write(pair.backward, "f");
  }
}

}  // namespace ptrace_prof
