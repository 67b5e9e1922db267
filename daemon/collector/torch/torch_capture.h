// Records the operators of PyTorch in one process beside its Python: brings the hook in, reads what comes, leaves
// again.
//
//   (new) ──Prepare──► installed ──Arm──► recording ──Disarm──► left ──Finish──► over
//      │       │ ▲                            │
//      │       ▼ │ PyTorch has been imported  │
//      │     waiting                          │
//      └──────────────────────────────────────┴──► refused: a notice says why
//
// It never fails. The trace says what stands in the way, and everything else is recorded all the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/torch_injection.h"
#include "daemon/collector/calls/tick_clock.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/source.h"
#include "daemon/collector/torch/execution_trace.h"
#include "daemon/collector/torch/held_tensor_watch.h"
#include "daemon/collector/torch/torch_decoder.h"
#include "daemon/collector/torch/torch_merge.h"

namespace ptrace_prof {

// Whether a capture records operators: as requested, or by default because calls are traced, if PyTorch is loaded or
// comes to be.
bool RecordsTorch(const CaptureTask& request);

class TorchCapture final : public Source {
 public:
  // Whether what happens at some time is recorded; asked only about times until which that is known.
  using RecordedAt = std::function<bool(Nanos when)>;
  // Without `recorded_at` everything is.
  TorchCapture(const RecordedProcess& target, const CaptureContext& context, RecordedAt recorded_at);

  // No error if PyTorch is not there yet.
  Result<void> Prepare(const GoOn& go_on) override;
  bool HasCome(Nanos now) override;
  void KeepAlive() override;
  void Abandon() override;  // the hook leaves by itself
  Result<Nanos> Arm(Nanos begun) override;
  // Call it as often as possible: it also keeps the hook alive.
  void Poll(Nanos now, Nanos known_until) override;
  void Disarm(Nanos patience, const std::function<void()>& meanwhile) override;
  void Finish(Nanos now) override;
  std::optional<Nanos> PollWithin() const override;

 private:
  // What is allocated on a device, as a curve.
  struct DeviceCounter {
    CounterId id;
    Nanos last;
    Nanos written;  // the last time that is in the trace
    uint64_t value = 0;
    uint64_t most = 0;
    bool is_behind = false;  // the newest value is not in the trace
  };

  // While PyTorch has not come.
  struct Waiting {
    Nanos since;
    Nanos next_look;
    Nanos pause;                   // after an attempt to enter that failed
    std::optional<Error> failure;  // of the last one
  };

  Result<void> Enter(const GoOn& go_on, Nanos patience);
  Result<void> MayEnterLate() const;
  void EndWaiting();
  bool WithMemory() const { return context_.request.spec().profile_memory(); }
  void Refuse(const Error& error);
  void Note(std::string_view what, const Error& error);
  bool IsRecorded(Nanos when) const { return !recorded_at_ || recorded_at_(when); }
  bool Merges() const { return WithMemory() || recorded_at_; }
  void Drain(Nanos late, bool is_last = false);
  void Feed(size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records);
  void DrainRing(size_t index);
  void Meet(Tid inner);
  ThreadHandle ThreadOf(Tid inner);
  void Take(Tid tid, const Operator& one);
  void Take(Tid tid, Allocation one);
  void Take(const HeldTensor& tensor);
  bool KeepOutside(Tid tid, const Allocation& one);
  void WriteOutside(Nanos when);
  void Write(DeviceCounter& counter);
  void Renew();
  void TellGroups();
  void AwaitLeft(Nanos patience, const std::function<void()>& meanwhile);
  void CompleteTrace(Nanos deadline, const std::function<void()>& meanwhile);
  void Account();

  const RecordedProcess target_;
  const CaptureContext context_;
  const RecordedAt recorded_at_;
  TickClock clock_{FitTickSource()};
  RemoteWriter writer_;
  std::optional<InjectionTarget> into_;
  uint64_t nonce_ = 0;
  std::optional<TorchInjection> injection_;
  std::optional<Error> refusal_;  // of Prepare
  std::optional<Waiting> waiting_;
  std::optional<Nanos> waited_since_;  // it came after that
  std::optional<Error> memory_refusal_;
  uint64_t memory_slots_ = 0;
  TorchDecoder decoder_;
  TorchMerge merge_;                                             // while records must wait, or be in order
  std::optional<HeldTensorWatch> held_;                          // while memory is recorded
  std::optional<ExecutionTrace> trace_;                          // if requested
  std::map<std::pair<uint8_t, int8_t>, DeviceCounter> devices_;  // by type and index
  std::map<size_t, uint64_t> owners_;                            // PyTorch's number of the thread that owns a ring
  std::map<Tid, ThreadInfo> hosts_;      // threads as the host sees them, by tid as the target sees it
  std::map<Tid, ThreadHandle> unknown_;  // those without Python, likewise
  std::vector<pp_record> records_;
  std::string groups_;                                                // of torch.distributed, as the trace has them
  bool is_busy_ = false;                                              // the last look found much
  bool has_row_ = false;                                              // the hook knows where the fields are
  std::unordered_map<uint64_t, std::pair<Tid, Allocation>> outside_;  // by address: allocated between recorded steps
  std::unordered_set<uint64_t> were_there_;  // addresses of those that lived when the next ones began
  uint64_t operators_left_out_ = 0;
  uint64_t allocations_left_out_ = 0;
  Nanos end_;
  bool is_over_ = false;  // nothing is recorded any more
};

}  // namespace ptrace_prof
