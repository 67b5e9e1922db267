#include "daemon/export/kineto_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attach/base/clean_text.h"
#include "daemon/export/gpu_totals.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kOverheadPid = -1;
constexpr int64_t kWaitTid = 10'000'000;  // added to a stream's number
constexpr int64_t kGpuSortIndex = 5'000'000;
constexpr std::string_view kFlow = "ac2g";
constexpr size_t kMostHeld = 1 << 18;

// By GpuOperationKind.
constexpr std::array<std::string_view, kGpuOperationKinds> kCategories = {"kernel",    "gpu_memcpy", "gpu_memset",
                                                                          "cuda_sync", "overhead",   "kernel"};
constexpr std::array<std::string_view, kGpuApis> kApiCategories = {"cuda_runtime", "cuda_driver"};
constexpr std::array<std::string_view, kGpuStackSources> kSources = {"none", "exact", "sampled", "backward",
                                                                     "at the launch"};
constexpr std::array<std::string_view, kGpuAnnotationKinds> kAnnotationKinds = {"range", "mark",
                                                                                "range that went on at the end"};

// Hands out the oldest elements until `most` are left.
template <typename Queue, typename Take>
void TakeOldest(Queue& queue, size_t most, const Take& take) {
  for (; queue.size() > most; queue.pop_front()) {
    take(queue.front().first, queue.front().second);
  }
}

int64_t NumberOf(uint32_t id) { return id == kNoGpuNumber ? -1 : int64_t{id}; }

}  // namespace

KinetoPlace KinetoGpu::PlaceOf(const GpuQueue& queue, GpuOperationKind kind) const {
  if (queue.is_overhead || kind == GpuOperationKind::kOverhead || queue.device == kNoGpuNumber) {
    return {kOverheadPid, queue.pid.value};
  }
  const int64_t stream = std::max<int64_t>(NumberOf(queue.stream), 0);
  return {queue.device, kind == GpuOperationKind::kSync ? stream + kWaitTid : stream};
}

void KinetoGpu::WriteShape(const GpuShape& shape) {
  json_.Member("registers per thread", int64_t{shape.registers_per_thread});
  json_.Member("shared memory", int64_t{shape.static_shared_memory} + shape.dynamic_shared_memory);
  const std::pair<std::string_view, const std::array<uint32_t, 3>&> sizes[] = {{"grid", shape.grid},
                                                                               {"block", shape.block}};
  for (const auto& [name, size] : sizes) {
    json_.Name(name);
    json_.StartArray();
    for (const uint32_t part : size) {
      json_.Uint(part);
    }
    json_.EndArray();
  }
}

void KinetoGpu::WriteCopy(const GpuOperation& operation) {
  json_.Member("bytes", static_cast<int64_t>(operation.bytes));
  const int64_t duration = std::max<int64_t>((operation.end - operation.begin).value, 1);
  json_.Name("memory bandwidth (GB/s)");
  json_.Double(static_cast<double>(operation.bytes) / static_cast<double>(duration));
}

// It is not known which record of an event is waited for, so the kinds that require it are left out.
void KinetoGpu::WriteSync(const GpuQueue& queue, const GpuOperation& operation) {
  if (operation.sync == GpuSync::kStream || operation.sync == GpuSync::kContext) {
    json_.Member("cuda_sync_kind", operation.sync == GpuSync::kStream ? "Stream Sync" : "Context Sync");
  }
  json_.Member("wait_on_stream", NumberOf(queue.stream));
  if (operation.event != 0) {
    json_.Member("wait_on_cuda_event_id", int64_t{operation.event});
  }
}

// The function that launched the operation.
void KinetoGpu::WritePython(StackId stack, GpuStackSource source) {
  if (stack == kEmptyStack || source == GpuStackSource::kNone) {
    return;
  }
  const Function& function = functions_.function(functions_.IdOf(context_.stacks.leaf(stack)));
  json_.Member("Python", LabelOf(function));
  json_.Member("Python stack", kSources[static_cast<size_t>(source) % kGpuStackSources]);
}

void KinetoGpu::WriteArguments(const GpuQueue& queue, const GpuOperation& operation) {
  json_.Name("args");
  json_.StartObject();
  if (operation.launched.value != 0) {
    WriteExternalId({queue.pid.value, operation.launched_by.value}, operation.launched);
  }
  if (operation.kind != GpuOperationKind::kOverhead) {
    json_.Member("device", NumberOf(queue.device));
    json_.Member("context", NumberOf(queue.context));
    json_.Member("stream", NumberOf(queue.stream));
  }
  json_.Member("correlation", static_cast<int64_t>(operation.correlation));
  switch (operation.kind) {
    case GpuOperationKind::kKernel:
    case GpuOperationKind::kGraph:
      WriteShape(operation.shape);
      if (operation.graph != 0) {
        json_.Member("graph id", int64_t{operation.graph});
        json_.Member("graph node id", static_cast<int64_t>(operation.graph_node));
      }
      break;
    case GpuOperationKind::kMemcpy:
    case GpuOperationKind::kMemset: WriteCopy(operation); break;
    case GpuOperationKind::kSync: WriteSync(queue, operation); break;
    case GpuOperationKind::kOverhead: break;
  }
  WritePython(operation.stack, operation.stack_source);
  json_.EndObject();
}

bool KinetoGpu::HoldsBack() const { return MayHaveOperators(context_.recording); }

void KinetoGpu::OnOperation(GpuQueueId queue, const GpuOperation& operation) {
  if (!HoldsBack()) {
    Write(queue, operation);
    return;
  }
  held_operations_.emplace_back(queue, operation);
  if (held_operations_.size() > kMostHeld) {
    Release(kMostHeld / 2);
  }
}

void KinetoGpu::OnApiCall(TrackId track, const GpuApiCall& call) {
  if (!HoldsBack()) {
    Write(track, call);
    return;
  }
  held_calls_.emplace_back(track, call);
  if (held_calls_.size() > kMostHeld) {
    Release(kMostHeld / 2);
  }
}

void KinetoGpu::Release(size_t most) {
  const auto write = [this](auto place, const auto& one) { Write(place, one); };
  TakeOldest(held_calls_, most, write);
  TakeOldest(held_operations_, most, write);
}

void KinetoGpu::Finish() { Release(0); }

// The innermost operator that ran on that thread.
void KinetoGpu::WriteExternalId(OperatorThread thread, Nanos when) {
  if (const auto id = operators_.At(thread, when)) {
    json_.Member("External id", static_cast<int64_t>(*id));
  }
}

void KinetoGpu::Write(GpuQueueId id, const GpuOperation& operation) {
  if (!writer_.TakeRoom(operation.begin)) {
    return;
  }
  is_empty_ = false;
  const GpuQueue& queue = context_.recording.gpu_queues[id.value];
  const KinetoPlace place = PlaceOf(queue, operation.kind);
  const bool waits = operation.kind == GpuOperationKind::kSync;
  kernel_ends_.resize(std::max<size_t>(kernel_ends_.size(), id.value + 1));
  Nanos& kernel_end = kernel_ends_[id.value];
  const Nanos end = std::max(operation.end, operation.begin);
  Nanos begin = operation.begin;
  if (waits) {  // Kineto's wait begins when the stream's earlier work is done
    begin = operation.sync == GpuSync::kStream ? std::clamp(kernel_end, begin, end) : begin;
    waited_on_.insert(id.value);
  } else {
    kernel_end = std::max(kernel_end, end);
  }
  const std::string name = CleanText(operation.name);
  writer_.Start(place, kCategories[static_cast<size_t>(operation.kind)], name.empty() ? "unknown" : name, begin, end);
  WriteArguments(queue, operation);
  json_.EndObject();
  if (operation.correlation != 0 && operation.launched.value != 0 && !waits && writer_.TakeRoom(begin)) {
    writer_.Flow(place, "f", kFlow, operation.correlation, begin);
  }
}

void KinetoGpu::Write(TrackId track, const GpuApiCall& call) {
  if (!writer_.TakeRoom(call.begin)) {
    return;
  }
  is_empty_ = false;
  const ThreadInfo& thread = context_.recording.threads[track.value].info;
  const KinetoPlace place{thread.pid.value, thread.tid.value};
  const std::string name = CleanText(call.name);
  writer_.Start(place, kApiCategories[static_cast<size_t>(call.api) % kGpuApis], name.empty() ? "unknown" : name,
                call.begin, std::max(call.end, call.begin));
  json_.Name("args");
  json_.StartObject();
  WriteExternalId({thread.pid.value, thread.tid.value}, call.begin);
  json_.Member("cbid", int64_t{call.function});
  json_.Member("correlation", static_cast<int64_t>(call.correlation));
  if (call.result != 0) {
    json_.Member("result", int64_t{call.result});
  }
  WritePython(call.stack, call.stack_source);
  json_.EndObject();
  json_.EndObject();
  if (call.launches && call.correlation != 0 && writer_.TakeRoom(call.begin)) {
    writer_.Flow(place, "s", kFlow, call.correlation, call.begin);
  }
}

// In the format in which Kineto writes record_function annotations. There is one row per thread, so it depends on the
// viewer how it shows ranges of one thread that overlap without nesting.
void KinetoGpu::OnAnnotation(TrackId track, const GpuAnnotation& annotation) {
  if (!writer_.TakeRoom(annotation.begin)) {
    return;
  }
  is_empty_ = false;
  const ThreadInfo& thread = context_.recording.threads[track.value].info;
  const std::string name = CleanText(annotation.name);
  writer_.Start({thread.pid.value, thread.tid.value}, "user_annotation", name.empty() ? "unnamed" : name,
                annotation.begin, annotation.end);
  json_.Name("args");
  json_.StartObject();
  json_.Member("NVTX", kAnnotationKinds[static_cast<size_t>(annotation.kind) % kGpuAnnotationKinds]);
  if (!annotation.domain.empty()) {
    json_.Member("domain", CleanText(annotation.domain));
  }
  json_.EndObject();
  json_.EndObject();
}

void KinetoGpu::WriteNames() {
  const Recording& recording = context_.recording;
  std::set<uint32_t> named;
  for (uint32_t i = 0; i < kernel_ends_.size(); ++i) {
    const GpuQueue& queue = recording.gpu_queues[i];
    const KinetoPlace place = PlaceOf(queue, GpuOperationKind::kKernel);
    if (place.pid == kOverheadPid) {
      if (named.insert(kNoGpuNumber).second) {
        writer_.Name(place, "process_name", "overhead of tracing");
      }
      continue;
    }
    if (named.insert(queue.device).second) {
      writer_.Name({place.pid, 0}, "process_name", TitleOf(recording, context_.options.title));
      writer_.Name({place.pid, 0}, "process_labels", GpuLabel(recording, queue.pid, queue.device));
      writer_.SortIndex({place.pid, 0}, "process_sort_index", kGpuSortIndex + place.pid);
    }
    writer_.Name(place, "thread_name", GpuQueueLabel(queue));
    writer_.SortIndex(place, "thread_sort_index", place.tid);
    if (waited_on_.count(i) != 0) {
      const KinetoPlace waits = PlaceOf(queue, GpuOperationKind::kSync);
      writer_.Name(waits, "thread_name", GpuQueueLabel(queue) + " (sync)");
      writer_.SortIndex(waits, "thread_sort_index", place.tid);
    }
  }
}

void KinetoGpu::WriteDeviceProperties() {
  json_.Name("deviceProperties");
  json_.StartArray();
  std::set<uint32_t> written;
  for (const GpuDevice& device : context_.recording.gpu_devices) {
    if (!written.insert(device.id).second) {
      continue;
    }
    json_.StartObject();
    json_.Member("id", int64_t{device.id});
    json_.Member("name", CleanText(device.name));
    json_.Member("totalGlobalMem", static_cast<int64_t>(device.memory_bytes));
    json_.Member("computeMajor", int64_t{device.compute_major});
    json_.Member("computeMinor", int64_t{device.compute_minor});
    json_.Member("maxThreadsPerBlock", int64_t{device.max_threads_per_block});
    json_.Member("maxThreadsPerMultiprocessor", int64_t{device.max_threads_per_multiprocessor});
    json_.Member("regsPerBlock", int64_t{device.registers_per_block});
    json_.Member("warpSize", int64_t{device.warp_size});
    json_.Member("sharedMemPerBlock", int64_t{device.shared_memory_per_block});
    json_.Member("numSms", int64_t{device.multiprocessors});
    json_.Member("regsPerMultiprocessor", int64_t{device.registers_per_multiprocessor});
    json_.Member("sharedMemPerMultiprocessor", int64_t{device.shared_memory_per_multiprocessor});
    json_.EndObject();
  }
  json_.EndArray();
}

}  // namespace ptrace_prof
