// The devices, contexts and streams of a target, and the trace's queue for each stream.
//
// Learns from inventory records, which may come after the first operations of a stream. A queue is announced at its
// first operation, with what is known then. Bounded. One per target; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>

#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_record.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

class GpuInventory {
 public:
  GpuInventory(Pid pid, TraceWriter& writer, GpuNames& names) : pid_(pid), writer_(writer), names_(names) {}

  // `record` is a kDevice, kContext or kStream.
  void Learn(const GpuRecord& record);
  // `device`: kNoGpuNumber if the record does not have it.
  GpuQueueHandle QueueOf(uint32_t device, uint32_t context, uint32_t stream);
  GpuQueueHandle OverheadQueue();

 private:
  struct Context {
    uint32_t device = kNoGpuNumber;
    uint32_t default_stream = kNoGpuNumber;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;

  void LearnDevice(const GpuRecord& record);
  GpuQueueHandle Open(const Key& key, const GpuQueue& queue);

  const Pid pid_;
  TraceWriter& writer_;
  GpuNames& names_;
  std::map<uint32_t, bool> devices_;
  std::unordered_map<uint32_t, Context> contexts_;
  std::unordered_map<uint64_t, int32_t> priorities_;  // by context and stream
  std::map<Key, GpuQueueHandle> queues_;
  Key last_key_;
  GpuQueueHandle last_;
  bool has_last_ = false;
};

}  // namespace ptrace_prof
