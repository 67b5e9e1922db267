#include "daemon/collector/gpu/gpu_joiner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/collector/gpu/gpu_operation_name.h"
#include "daemon/trace/counters.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kWaitForLaunch = Nanos::FromMillis(1500);
constexpr Nanos kKernelComesIn = Nanos::FromSeconds(1);
constexpr Nanos kKernelPasses = Nanos::FromMillis(200);        // lateness against later launches on other streams
constexpr Nanos kKernelIsReportedIn = Nanos::FromMillis(400);  // a flush reports a short kernel within that time
constexpr Nanos kLongestCapture = Nanos::FromSeconds(60);
constexpr size_t kMaxWaiting = size_t{1} << 19;  // records of each kind
constexpr size_t kMaxGraphs = 4096;
constexpr size_t kGraphsNamed = 16;
constexpr uint32_t kCaptureInvalidated = 901;  // result of ending an invalidated capture

bool IsKernel(const GpuOperation& operation) { return operation.kind == GpuOperationKind::kKernel; }

template <typename Enum>
Enum OneOf(uint32_t number, Enum last) {
  return number <= static_cast<uint32_t>(last) ? static_cast<Enum>(number) : Enum{};
}

GpuOperationKind KindOf(GpuRecordKind kind) {
  switch (kind) {
    case GpuRecordKind::kMemcpy:
    case GpuRecordKind::kMemcpyPeer: return GpuOperationKind::kMemcpy;
    case GpuRecordKind::kMemset: return GpuOperationKind::kMemset;
    case GpuRecordKind::kSync: return GpuOperationKind::kSync;
    case GpuRecordKind::kOverhead:
    case GpuRecordKind::kJit: return GpuOperationKind::kOverhead;
    case GpuRecordKind::kGraph: return GpuOperationKind::kGraph;
    default: return GpuOperationKind::kKernel;
  }
}

}  // namespace

GpuJoiner::GpuJoiner(Pid pid, TraceWriter& writer, const StackTable& stacks, GpuNames& names, const GpuClock& clock,
                     GpuCallSites& sites)
    : pid_(pid),
      writer_(writer),
      stacks_(stacks),
      names_(names),
      clock_(clock),
      sites_(sites),
      inventory_(pid, writer, names) {}

void GpuJoiner::Take(const GpuRecord& record) {
  switch (record.kind) {
    case GpuRecordKind::kNone: break;
    case GpuRecordKind::kDevice:
    case GpuRecordKind::kContext:
    case GpuRecordKind::kStream: inventory_.Learn(record); break;
    case GpuRecordKind::kRuntime:
    case GpuRecordKind::kDriver: TakeCall(record); break;
    default: TakeOperation(record); break;
  }
}

// Also rejects times that CUPTI cannot have written yet, and those from before the recording.
bool GpuJoiner::AreTimesValid(const GpuRecord& record) const {
  return record.start != 0 && record.end >= record.start && clock_.IsPossible(record.start) &&
         clock_.IsPossible(record.end);
}

void GpuJoiner::TakeCall(const GpuRecord& record) {
  ++counts_.api_calls;
  if (!AreTimesValid(record)) {
    ++counts_.invalid_records;
    return;
  }
  if (calls_.size() >= kMaxWaiting) {
    SettleSomeCalls();
  }
  const GpuApi api = record.kind == GpuRecordKind::kRuntime ? GpuApi::kRuntime : GpuApi::kDriver;
  const GpuCallRow* row = FindGpuCall(api, record.value);
  Call call;
  call.kind = row != nullptr ? row->kind : GpuCallKind::kOther;
  call.thread = record.thread;
  call.call.api = api;
  call.call.begin = clock_.ToMonotonic(record.start);
  call.call.end = clock_.ToMonotonic(record.end);
  call.call.name = row != nullptr ? row->name : api == GpuApi::kRuntime ? "cuda runtime call" : "cuda driver call";
  call.call.function = record.value;
  call.call.correlation = launches_.Widen(record.correlation);
  call.call.result = record.result;
  calls_.push_back(call);
}

GpuOperation GpuJoiner::Describe(const GpuRecord& record) {
  GpuOperation operation;
  operation.kind = KindOf(record.kind);
  operation.begin = clock_.ToMonotonic(record.start);
  operation.end = clock_.ToMonotonic(record.end);
  operation.correlation = IsUnlinked(record) ? 0 : launches_.Widen(record.correlation);
  operation.graph = record.graph;
  operation.graph_node = record.graph_node;
  operation.channel = record.channel;
  if (IsKernel(operation)) {
    operation.name = names_.Of(RemoteAddr(record.name));
    operation.shape = {record.grid, record.block, record.registers, record.static_shared, record.dynamic_shared};
    return operation;
  }
  operation.name = names_.Keep(GpuOperationName(record));
  operation.bytes = record.bytes;
  if (operation.kind == GpuOperationKind::kMemcpy) {
    operation.copy_kind = OneOf(record.copy_kind, GpuCopyKind::kPtoP);
    operation.source = OneOf(record.source, GpuMemory::kManagedStatic);
  }
  if (operation.kind == GpuOperationKind::kMemset) {
    operation.value = record.value;
  }
  if (operation.kind == GpuOperationKind::kMemcpy || operation.kind == GpuOperationKind::kMemset) {
    operation.target = OneOf(record.target, GpuMemory::kManagedStatic);
  }
  if (operation.kind == GpuOperationKind::kSync) {
    operation.sync = OneOf(record.copy_kind, GpuSync::kContext);
    operation.event = record.event == kNoGpuNumber ? 0 : record.event;
  }
  return operation;
}

void GpuJoiner::TakeOperation(const GpuRecord& record) {
  if (record.kind == GpuRecordKind::kKernel || record.kind == GpuRecordKind::kGraph) {
    has_heard_ = true;
  }
  if (!AreTimesValid(record)) {
    zeros_ += record.start == 0 || record.end == 0 ? 1 : 0;
    if (record.kind == GpuRecordKind::kKernel && !IsUnlinked(record) && operations_.size() < kMaxWaiting) {
      Operation timeless;
      timeless.operation.correlation = launches_.Widen(record.correlation);
      timeless.operation.begin = timeless.operation.end = taking_;
      timeless.taken = taking_;
      timeless.has_times = false;
      operations_.push_back(timeless);
    } else {
      ++counts_.invalid_records;
    }
    return;
  }
  Operation operation;
  operation.operation = Describe(record);
  operation.taken = taking_;
  operation.is_unlinked = IsUnlinked(record);
  if (operation.operation.kind == GpuOperationKind::kOverhead) {
    operation.queue = inventory_.OverheadQueue();
  } else {
    const bool has_device = record.kind != GpuRecordKind::kSync;
    operation.queue = inventory_.QueueOf(has_device ? record.device : kNoGpuNumber, record.context, record.stream);
  }
  if (operations_.size() >= kMaxWaiting) {
    SettleOperations(taking_, true);
  }
  operations_.push_back(operation);
}

// A launch while the shim is starting or stopping may or may not be recorded; only its kernel shows that it was.
bool GpuJoiner::ImpliesMore(const Call& call) const {
  const Nanos begin = call.call.begin;
  return call.call.result == 0 && begin >= opened_ && begin >= begun_ && begin <= closed_;
}

void GpuJoiner::NoteLaunch(const Call& call, const GpuCallSite& site) {
  GpuLaunch launch;
  launch.correlation = call.call.correlation;
  launch.begin = call.call.begin;
  launch.end = call.call.end;
  launch.tid = site.tid;
  launch.stack = site.stack;
  launch.generation = stacks_.generation();
  launch.source = site.source;
  launch.is_ambiguous = site.is_ambiguous;
  launch.kind = call.kind;
  launch.is_outside = call.call.begin < opened_;
  launch.is_implied = call.kind == GpuCallKind::kKernel && ImpliesMore(call);
  launch.is_replay = call.kind == GpuCallKind::kGraph && !are_graphs_unlinked_ && ImpliesMore(call);
  counts_.launches += launch.is_implied ? 1 : 0;
  FollowSilence(call, launch);
  launches_.Add(launch);
}

void GpuJoiner::FollowSilence(const Call& call, const GpuLaunch& launch) {
  if ((launch.is_implied && !launches_.captures().Covers(launch.begin)) ||
      (call.kind == GpuCallKind::kGraph && ImpliesMore(call))) {
    silence_.Launched(call.thread, launch.begin);
  } else if (call.kind == GpuCallKind::kSync && call.call.result == 0) {
    silence_.Waited(call.thread, call.call.begin, call.call.end);
  }
}

void GpuJoiner::FollowGraphs(const Call& call) {
  const uint32_t result = call.call.result;
  if (call.kind == GpuCallKind::kBeginCapture && result == 0) {
    launches_.captures().Begin(call.call.end);
  } else if (call.kind == GpuCallKind::kEndCapture && (result == 0 || result == kCaptureInvalidated)) {
    launches_.captures().End(call.call.begin);
    silence_.EndAt(call.call.end);  // the capture may have begun before the recording
  } else if (call.kind == GpuCallKind::kInstantiate && result == 0) {
    first_instantiation_ = std::min(first_instantiation_, call.call.begin);
  }
}

// The runtime's launch contains the driver's with the same correlation; the outer one is the launch.
void GpuJoiner::SettleCall(Call& call) {
  const auto correlation = static_cast<uint32_t>(call.call.correlation);  // as it was before Widen
  const GpuCallSite site = sites_.Of({.thread = call.thread, .correlation = correlation, .begin = call.call.begin});
  call.call.stack = site.stack;
  call.call.stack_source = site.source;
  const bool is_first = launches_.Find(call.call.correlation) == nullptr;
  if (call.call.correlation != 0 && is_first) {
    FollowGraphs(call);
    NoteLaunch(call, site);
    call.call.launches = StartsGpuWork(call.kind);
  }
  if (call.call.begin >= opened_) {
    writer_.AddGpuApiCall(site.thread, call.call);
  }
}

// The stacks of their threads are not known then.
void GpuJoiner::SettleSomeCalls() {
  const auto middle = calls_.begin() + static_cast<std::ptrdiff_t>(calls_.size() / 2);
  std::for_each(calls_.begin(), middle, [&](Call& call) { SettleCall(call); });
  calls_.erase(calls_.begin(), middle);
}

void GpuJoiner::CountKernel(const Operation& waiting, const GpuLaunch* launch) {
  const GpuOperation& operation = waiting.operation;
  ++counts_.kernels;
  if (waiting.is_unlinked) {
    ++counts_.launches;  // of some replay
    return;
  }
  if (launch == nullptr) {
    ++counts_.without_launch;
    return;
  }
  counts_.launches += launch->is_implied ? 0 : 1;  // a node of a graph: the number of nodes is not known beforehand
  if (operation.begin < launch->begin) {
    early_.Add(launch->begin - operation.begin);
  }
  switch (operation.stack_source) {
    case GpuStackSource::kNone: counts_.ambiguous += launch->is_ambiguous ? 1 : 0; break;
    case GpuStackSource::kExact: ++counts_.attributed_exact; break;
    case GpuStackSource::kSampled: ++counts_.attributed_sampled; break;
    case GpuStackSource::kBackward: ++counts_.attributed_backward; break;
    case GpuStackSource::kLaunch: ++counts_.attributed_launch; break;
  }
}

// Counts a kernel that is left out of the trace. Its launch has got what it implied.
void GpuJoiner::CountInvalid(const GpuLaunch* launch) {
  if (launch == nullptr) {
    ++counts_.invalid_records;
    return;
  }
  ++counts_.invalid;
  counts_.launches += launch->is_implied ? 0 : 1;
}

void GpuJoiner::Write(Operation& waiting, const GpuLaunch* launch) {
  GpuOperation& operation = waiting.operation;
  if (launch != nullptr) {
    operation.launched_by = launch->tid;
    operation.launched = launch->begin;
    if (operation.graph != 0 && replays_.size() < kMaxGraphs) {
      const auto first = replays_.emplace(operation.graph, launch->begin).first;
      first->second = std::min(first->second, launch->begin);
    }
    if (launch->generation == stacks_.generation()) {
      operation.stack = launch->stack;
      operation.stack_source = launch->source;
    }
  }
  const bool is_orphan = launch == nullptr && !waiting.is_unlinked;
  counts_.unlinked += waiting.is_unlinked ? 1 : 0;
  switch (operation.kind) {
    case GpuOperationKind::kKernel: CountKernel(waiting, launch); break;
    case GpuOperationKind::kMemcpy:
      ++counts_.copies;
      counts_.copies_without_launch += is_orphan ? 1 : 0;
      break;
    case GpuOperationKind::kMemset:
      ++counts_.memsets;
      counts_.memsets_without_launch += is_orphan ? 1 : 0;
      break;
    case GpuOperationKind::kSync: ++counts_.syncs; break;
    case GpuOperationKind::kOverhead: ++counts_.overheads; break;
    case GpuOperationKind::kGraph: counts_.graphs_without_launch += is_orphan ? 1 : 0; break;
  }
  writer_.AddGpuOperation(waiting.queue, operation);
}

// Goes through the operations in the order of time by index, as moving them is expensive.
void GpuJoiner::SettleOperations(Nanos now, bool is_last) {
  order_.clear();
  for (size_t i = 0; i < operations_.size(); ++i) {
    order_.emplace_back(operations_[i].operation.begin.value, i);
  }
  if (!std::ranges::is_sorted(order_)) {
    std::ranges::sort(order_);
  }
  waiting_.clear();
  for (const auto& [begin, index] : order_) {
    Operation& one = operations_[index];
    GpuLaunch* launch = launches_.Find(one.operation.correlation);
    const bool may_wait = one.operation.correlation != 0 && one.operation.kind != GpuOperationKind::kOverhead;
    // Once calls are no longer recorded, launches get no number.
    const bool is_late = one.operation.begin > closed_ && (is_last || !may_wait);
    const bool is_outside = launch != nullptr ? launch->is_outside : one.operation.begin < opened_ || is_late;
    if (is_outside) {
      continue;
    }
    const bool may_come = now - one.taken < kWaitForLaunch || one.operation.begin > std::min(closed_, known_until_);
    if (launch == nullptr && may_wait && !is_last && may_come) {
      waiting_.push_back(one);
      continue;
    }
    if (launch != nullptr && (IsKernel(one.operation) || launch->is_replay)) {
      launch->is_seen = true;
    }
    if (one.has_times) {
      Write(one, launch);
    } else {
      CountInvalid(launch);
    }
  }
  operations_.swap(waiting_);
}

void GpuJoiner::Settle(Nanos now, Nanos known_until) {
  taking_ = now;
  known_until_ = known_until;
  if (std::exchange(has_heard_, false)) {
    silence_.EndAt(now);
  }
  const auto is_before = [](const Call& a, const Call& b) {
    return std::pair(a.call.begin, b.call.end) < std::pair(b.call.begin, a.call.end);  // the outer one first
  };
  if (!std::ranges::is_sorted(calls_, is_before)) {
    std::ranges::sort(calls_, is_before);
  }
  const auto unknown =
      std::ranges::upper_bound(calls_, known_until, {}, [](const Call& one) { return one.call.begin; });
  std::for_each(calls_.begin(), unknown, [&](Call& call) { SettleCall(call); });
  calls_.erase(calls_.begin(), unknown);
  SettleOperations(now, false);
}

void GpuJoiner::Finish(Nanos now) {
  Settle(now, Nanos(INT64_MAX));
  SettleOperations(now, true);
  ReportOldGraphs();
  ReportUnlinked();
}

// Certain only for graphs that were replayed before any graph was seen to be instantiated.
void GpuJoiner::ReportOldGraphs() {
  std::string named;
  for (const auto& [graph, first] : replays_) {
    if (first < first_instantiation_ && ++counts_.graphs_before <= kGraphsNamed) {
      named += fmt::format("{}{}", named.empty() ? "" : ", ", graph);
    }
  }
  if (counts_.graphs_before > 0) {
    writer_.AddNotice(
        taking_,
        fmt::format("process {} replayed graphs that were instantiated before the recording began, {} in all (graph "
                    "{}{}): CUPTI may record their copies and memsets as kernels",
                    pid_.value, counts_.graphs_before, named, counts_.graphs_before > kGraphsNamed ? ", …" : ""));
  }
}

void GpuJoiner::ReportUnlinked() {
  if (counts_.unlinked > 0) {
    writer_.AddNotice(
        taking_,
        fmt::format("{} graph operations of process {} have no launch and no Python stack: CUPTI was used in the "
                    "process before, and then reports wrong launches of graphs (fixed in CUDA 13.1 update 1)",
                    counts_.unlinked, pid_.value));
  }
}

void GpuJoiner::CountInto(GpuAccounting& accounting) const {
  GpuAccounting counted = counts_;
  const GpuUnseenLaunches unseen = launches_.CountUnseen();
  counted.unseen = unseen.kernels;
  counted.captured = unseen.captured;
  counted.launches -= unseen.captured;
  counted.replays_unseen = unseen.replays;
  counted.clock_violations = early_.count();
  counted.early_median_ns = static_cast<uint64_t>(early_.Quantile(0.5).value);
  counted.early_p99_ns = static_cast<uint64_t>(early_.Quantile(0.99).value);
  counted.early_most_ns = static_cast<uint64_t>(early_.most().value);
  counted.clock_steps = clock_.steps();
  TakeCounters(CountedBy::kGpuJoiner, counted, accounting);
}

// Kernels come in about the order of their launches, however far behind the GPU is.
bool GpuJoiner::MayBeCapturing(Nanos now) const {
  const Nanos recorded = now - std::max(begun_, now - kLongestCapture);
  const Nanos patience = std::clamp(Nanos(recorded.value / 4), kKernelPasses, kKernelComesIn);
  const Nanos seen = launches_.LastSeen();
  const Nanos last = seen.value == 0 ? now - kKernelIsReportedIn : seen - patience;
  return launches_.LacksOne(now - kLongestCapture, std::max(last, now - kKernelComesIn));
}

}  // namespace ptrace_prof
