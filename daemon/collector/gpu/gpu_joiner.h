// Joins operations of a GPU with the calls that started them, and writes both into the trace.
//
// Records come in no order, within and across buffers, and a kernel may come before its launch. They are collected
// (Take) and settled some times a second (Settle), calls first, ordered by time. An operation whose launch has not come
// waits for a while; then it is written without a launch. Inconsistencies are counted. GpuCallSites supplies thread and
// stack of a call. Bounded whatever the target reports. One per target; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_clock.h"
#include "daemon/collector/gpu/gpu_early.h"
#include "daemon/collector/gpu/gpu_inventory.h"
#include "daemon/collector/gpu/gpu_launches.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_record.h"
#include "daemon/collector/gpu/gpu_silence.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

struct GpuCallSite {
  ThreadHandle thread;
  Tid tid;  // on the host
  StackId stack = kEmptyStack;
  GpuStackSource source = GpuStackSource::kNone;
  bool is_ambiguous = false;  // more than one stack is possible
};

struct GpuCallPlace {
  uint32_t thread = 0;       // as in the record
  uint32_t correlation = 0;  // as in the record
  Nanos begin;
};

// Supplies the thread and the stack of a call.
class GpuCallSites {
 public:
  virtual ~GpuCallSites() = default;
  virtual GpuCallSite Of(const GpuCallPlace& call) = 0;
  // `thread`: as in records.
  virtual ThreadHandle ThreadOf(uint32_t thread) = 0;
};

class GpuJoiner {
 public:
  // All arguments must outlive it.
  GpuJoiner(Pid pid, TraceWriter& writer, const StackTable& stacks, GpuNames& names, const GpuClock& clock,
            GpuCallSites& sites);

  void Take(const GpuRecord& record);
  // Writes what is known. Calls that began after `known_until` stay for the next time, as the stacks of their threads
  // are not known yet.
  void Settle(Nanos now, Nanos known_until);
  // Drops earlier calls and what they started: they do not belong to this capture.
  void Open(Nanos when) { opened_ = when; }
  // From `when` on everything was recorded. For calls that began before, operations may be missing.
  void Begin(Nanos when) { begun_ = when; }
  // From `when` on calls are no longer recorded, but operations of earlier launches still come. A later operation
  // without a launch does not belong to this capture.
  void Close(Nanos when) { closed_ = when; }
  // Writes everything; no more records may come.
  void Finish(Nanos now);

  // Sets the joiner's own counters only.
  void CountInto(GpuAccounting& accounting) const;
  // Operations of graphs get no launch, because their correlations are wrong.
  void DistrustGraphs() { are_graphs_unlinked_ = true; }
  const GpuSilence& silence() const { return silence_; }
  // Operations for which CUPTI had no times.
  uint64_t zeros() const { return zeros_; }
  // True if a launched kernel has not come although later ones have, or none has come at all. That is so while a stream
  // is being captured into a graph since before the recording.
  bool MayBeCapturing(Nanos now) const;

 private:
  struct Call {
    GpuApiCall call;
    GpuCallKind kind;
    uint32_t thread;
  };
  struct Operation {
    GpuOperation operation;
    GpuQueueHandle queue;
    Nanos taken;
    bool has_times = true;     // false: kept only to find its launch
    bool is_unlinked = false;  // its launch cannot be found
  };

  void TakeCall(const GpuRecord& record);
  void TakeOperation(const GpuRecord& record);
  GpuOperation Describe(const GpuRecord& record);
  // The correlation of its launch is wrong.
  bool IsUnlinked(const GpuRecord& record) const { return are_graphs_unlinked_ && record.graph != 0; }
  bool AreTimesValid(const GpuRecord& record) const;
  void SettleCall(Call& call);
  void FollowGraphs(const Call& call);
  void FollowSilence(const Call& call, const GpuLaunch& launch);
  bool ImpliesMore(const Call& call) const;
  void NoteLaunch(const Call& call, const GpuCallSite& site);
  void Write(Operation& operation, const GpuLaunch* launch);
  void CountKernel(const Operation& waiting, const GpuLaunch* launch);
  void CountInvalid(const GpuLaunch* launch);
  void ReportOldGraphs();
  void ReportUnlinked();
  void SettleSomeCalls();
  void SettleOperations(Nanos now, bool is_last);

  const Pid pid_;
  TraceWriter& writer_;
  const StackTable& stacks_;
  GpuNames& names_;
  const GpuClock& clock_;
  GpuCallSites& sites_;
  GpuInventory inventory_;
  GpuLaunches launches_;
  std::vector<Call> calls_;
  std::vector<Operation> operations_;
  std::vector<Operation> waiting_;                 // scratch
  std::vector<std::pair<int64_t, size_t>> order_;  // scratch: begin and index
  Nanos taking_ = MonotonicNow();                  // when the current batch arrived
  Nanos known_until_{INT64_MAX};                   // of the last Settle
  GpuAccounting counts_;
  GpuEarly early_;
  GpuSilence silence_;
  uint64_t zeros_ = 0;
  bool has_heard_ = false;  // kernels or graphs came since the last Settle
  bool are_graphs_unlinked_ = false;
  std::map<uint32_t, Nanos> replays_;  // first replay seen of each graph
  Nanos first_instantiation_{INT64_MAX};
  Nanos opened_{INT64_MIN};
  Nanos begun_{INT64_MIN};
  Nanos closed_{INT64_MAX};
};

}  // namespace ptrace_prof
