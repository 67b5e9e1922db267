// Writes the GPU part of a trace: the devices and queues, and a GpuSequence for each queue, for each thread that calls
// the runtime, and for the operators of a thread.
//
// Owned by TraceWriter, which supplies sequence ids and the tracks of processes and threads. Tracks: the process, below
// it its devices, below these their streams; waits for a stream are on a track below the stream's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/trace/gpu.h"
#include "daemon/trace/write/gpu_sequence.h"

namespace ptrace_prof {

using GpuQueueHandle = StrongId<struct GpuQueueHandleTag, uint32_t>;

struct GpuThread {
  uint32_t number = 0;  // unique for the thread until EndThread
  uint64_t process_uuid = 0;
  uint64_t uuid = 0;
};

class GpuWriter {
 public:
  // `trace_sequence`: for packets about the whole trace. `new_sequence` returns a new id at each call.
  GpuWriter(const TraceOrigin& origin, const StackTable& stacks, FrameNames& names, uint32_t trace_sequence,
            std::function<uint32_t()> new_sequence)
      : origin_(origin),
        stacks_(stacks),
        names_(names),
        trace_sequence_(trace_sequence),
        new_sequence_(std::move(new_sequence)) {}

  void AddDevice(const GpuDevice& device);
  GpuQueueHandle AddQueue(const GpuQueue& queue, uint64_t process_uuid);
  void AddOperation(GpuQueueHandle queue, const GpuOperation& operation, WireEncoder& out);
  void AddCall(const GpuThread& thread, const GpuApiCall& call, WireEncoder& out);
  void AddAnnotation(const GpuThread& thread, const GpuAnnotation& annotation, WireEncoder& out);
  void AddOperator(const GpuThread& thread, const Operator& one, WireEncoder& out);
  void AddAllocation(const GpuThread& thread, const Allocation& one, WireEncoder& out);
  void EndThread(uint32_t number) {
    calls_.erase(number);
    annotations_.erase(number);
    operators_.erase(number);
  }

  void Reset();
  void ResetLargerThan(size_t entries);
  size_t entries();

 private:
  struct Queue {
    GpuQueue queue;
    uint64_t process_uuid = 0;
    uint64_t uuid = 0;
    std::unique_ptr<GpuSequence> work;
    std::unique_ptr<GpuSequence> waits;
  };
  using Threads = std::unordered_map<uint32_t, std::unique_ptr<GpuSequence>>;
  struct ThreadTrack {
    uint64_t salt;
    const char* name;
  };

  template <typename Visit>
  void ForEach(Visit visit);
  uint64_t DescribeDevice(const Queue& queue, WireEncoder& out);
  GpuSequence& Of(const GpuThread& thread, const ThreadTrack& track, Threads& threads);
  std::unique_ptr<GpuSequence> OpenQueue(const Queue& queue, bool is_waits, WireEncoder& out);

  const TraceOrigin origin_;
  const StackTable& stacks_;
  FrameNames& names_;
  const uint32_t trace_sequence_;
  const std::function<uint32_t()> new_sequence_;
  std::map<std::pair<int32_t, uint32_t>, std::string> device_names_;  // by pid and number
  std::vector<Queue> queues_;                                         // by handle
  Threads calls_;
  Threads annotations_;
  Threads operators_;
};

}  // namespace ptrace_prof
