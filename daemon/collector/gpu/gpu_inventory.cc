#include "daemon/collector/gpu/gpu_inventory.h"

#include <fmt/format.h>

#include <string>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxQueues = 4096;
constexpr size_t kMaxObjects = 65'536;

uint64_t StreamKey(uint32_t context, uint32_t stream) { return uint64_t{context} << 32 | stream; }

std::string UuidText(std::string text, const std::array<uint8_t, 16>& uuid) {
  for (size_t i = 0; i < uuid.size(); ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  }
  return text;
}

// A MIG slice has a uuid of its own, otherwise all slices of a GPU would be one device. Without one, its numbers on the
// GPU are used.
std::string UuidOf(const GpuRecord& record) {
  if (record.is_slice == 0) {
    return UuidText("GPU-", record.uuid);
  }
  if (record.slice_uuid != std::array<uint8_t, 16>{}) {
    return UuidText("MIG-", record.slice_uuid);
  }
  return fmt::format("{}/{}/{}", UuidText("MIG-GPU-", record.uuid), record.gpu_instance, record.compute_instance);
}

}  // namespace

void GpuInventory::LearnDevice(const GpuRecord& record) {
  if (devices_.size() >= kMaxQueues || !devices_.emplace(record.device, true).second) {
    return;
  }
  const auto limit = [&](GpuLimit which) { return record.device_limits[static_cast<size_t>(which)]; };
  GpuDevice device;
  device.pid = pid_;
  device.id = record.device;
  device.name = names_.Of(RemoteAddr(record.name));
  device.uuid = UuidOf(record);
  device.memory_bytes = record.bytes;
  device.compute_major = limit(GpuLimit::kComputeMajor);
  device.compute_minor = limit(GpuLimit::kComputeMinor);
  device.multiprocessors = limit(GpuLimit::kMultiprocessors);
  device.max_threads_per_block = limit(GpuLimit::kThreadsPerBlock);
  device.max_threads_per_multiprocessor = limit(GpuLimit::kWarpsPerMultiprocessor) * limit(GpuLimit::kWarpSize);
  device.registers_per_block = limit(GpuLimit::kRegistersPerBlock);
  device.registers_per_multiprocessor = limit(GpuLimit::kRegistersPerMultiprocessor);
  device.shared_memory_per_block = limit(GpuLimit::kSharedMemoryPerBlock);
  device.shared_memory_per_multiprocessor = limit(GpuLimit::kSharedMemoryPerMultiprocessor);
  device.warp_size = limit(GpuLimit::kWarpSize);
  writer_.AddGpuDevice(device);
}

void GpuInventory::Learn(const GpuRecord& record) {
  switch (record.kind) {
    case GpuRecordKind::kDevice: LearnDevice(record); break;
    case GpuRecordKind::kContext:
      if (contexts_.size() < kMaxObjects) {
        contexts_[record.context] = {record.device, record.flags};
      }
      break;
    case GpuRecordKind::kStream:
      if (priorities_.size() < kMaxObjects) {
        priorities_[StreamKey(record.context, record.stream)] = static_cast<int32_t>(record.priority);
      }
      break;
    default: break;
  }
}

GpuQueueHandle GpuInventory::Open(const Key& key, const GpuQueue& queue) {
  if (queues_.size() >= kMaxQueues) {
    return queues_.begin()->second;  // the target invents streams
  }
  return queues_.emplace(key, writer_.AddGpuQueue(queue)).first->second;
}

GpuQueueHandle GpuInventory::QueueOf(uint32_t device, uint32_t context, uint32_t stream) {
  const auto known_context = contexts_.find(context);
  if (device == kNoGpuNumber && known_context != contexts_.end()) {
    device = known_context->second.device;
  }
  const Key key(device, context, stream);
  if (has_last_ && key == last_key_) {
    return last_;
  }
  auto found = queues_.find(key);
  last_key_ = key;
  has_last_ = true;
  if (found != queues_.end()) {
    return last_ = found->second;
  }
  GpuQueue queue;
  queue.pid = pid_;
  queue.device = device;
  queue.context = context;
  queue.stream = stream;
  queue.is_default = known_context != contexts_.end() && known_context->second.default_stream == stream;
  if (const auto priority = priorities_.find(StreamKey(context, stream)); priority != priorities_.end()) {
    queue.priority = priority->second;
  }
  return last_ = Open(key, queue);
}

GpuQueueHandle GpuInventory::OverheadQueue() {
  const Key key(kNoGpuNumber, kNoGpuNumber, kNoGpuNumber - 1);
  const auto found = queues_.find(key);
  GpuQueue queue;
  queue.pid = pid_;
  queue.is_overhead = true;
  return found != queues_.end() ? found->second : Open(key, queue);
}

}  // namespace ptrace_prof
