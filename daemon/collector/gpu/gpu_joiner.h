// Joins what a GPU did to the calls that started it, and writes both into the trace.
//
// Records come in no order, within a buffer and across buffers, and a kernel's may come before its launch's: they are
// collected (Take) and settled some times a second (Settle), calls first, in the order of time. An operation whose
// launch has not come waits for it, for a while; then it goes into the trace without. Everything that does not add up
// is counted. Where a call was made (thread, stack) is asked of GpuCallSites. Bounded whatever the target says. One
// per target; one thread.
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
  Tid tid;  // of the host
  StackId stack = kEmptyStack;
  GpuStackSource source = GpuStackSource::kNone;
  bool is_ambiguous = false;  // there is more than one stack that it might be
};

struct GpuCallPlace {
  uint32_t thread = 0;       // as the record names it
  uint32_t correlation = 0;  // the same
  Nanos begin;
};

// Who made a call, and where it stood.
class GpuCallSites {
 public:
  virtual ~GpuCallSites() = default;
  virtual GpuCallSite Of(const GpuCallPlace& call) = 0;
  // `thread`: as records name it.
  virtual ThreadHandle ThreadOf(uint32_t thread) = 0;
};

class GpuJoiner {
 public:
  // All must outlive it.
  GpuJoiner(Pid pid, TraceWriter& writer, const StackTable& stacks, GpuNames& names, const GpuClock& clock,
            GpuCallSites& sites);

  void Take(const GpuRecord& record);
  // Writes what is known. Calls that began after `known_until` wait for the next time: where their threads were is not
  // known yet.
  void Settle(Nanos now, Nanos known_until);
  // What was called before is not of this capture, nor what it started.
  void Open(Nanos when) { opened_ = when; }
  // From when on everything was recorded: a call that began before may lack what it started.
  void Begin(Nanos when) { begun_ = when; }
  // From now on calls are no longer recorded, while what was launched before still comes: what begins later and has no
  // launch is not of this capture.
  void Close(Nanos when) { closed_ = when; }
  // No more will come: writes everything.
  void Finish(Nanos now);

  // The counters of this side; the others are left alone.
  void CountInto(GpuAccounting& accounting) const;
  // Which launch an operation of a graph is of cannot be believed: it gets none.
  void DistrustGraphs() { are_graphs_unlinked_ = true; }
  const GpuSilence& silence() const { return silence_; }
  // Operations without times, as CUPTI had none for them.
  uint64_t zeros() const { return zeros_; }
  // A kernel that was launched has not come, and later ones have, or none at all: so it is while a stream is being
  // captured into a graph since before anything was recorded.
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
    bool has_times = true;     // else it is kept only to find its launch
    bool is_unlinked = false;  // its launch cannot be found
  };

  void TakeCall(const GpuRecord& record);
  void TakeOperation(const GpuRecord& record);
  GpuOperation Describe(const GpuRecord& record);
  // Whose launch is not told rightly.
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
  void TellOldGraphs();
  void TellUnlinked();
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
  Nanos taking_ = MonotonicNow();                  // when what is being taken came
  Nanos known_until_{INT64_MAX};                   // of the last Settle
  GpuAccounting counts_;
  GpuEarly early_;
  GpuSilence silence_;
  uint64_t zeros_ = 0;
  bool has_heard_ = false;  // from the GPU, since the last Settle
  bool are_graphs_unlinked_ = false;
  std::map<uint32_t, Nanos> replays_;  // of each graph the first that was seen
  Nanos first_instantiation_{INT64_MAX};
  Nanos opened_{INT64_MIN};
  Nanos begun_{INT64_MIN};
  Nanos closed_{INT64_MAX};
};

}  // namespace ptrace_prof
