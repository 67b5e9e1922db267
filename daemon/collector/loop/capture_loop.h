// Runs the sources of one capture, and owns what they share: the trace's writer, its stacks, the accounting.
//
//   opening ──► preparing ──► arming ──► recording ──► disarming ──► finished
//      └───────────┴────────────┴──► refused: nothing was recorded, has_begun() is false
//
// The stack source comes first: it says which process there is, and others are prepared as soon as that process is
// open. That is at once where calls are traced, and may be later where samples wait for a launcher's child. The others
// leave before the stack source does, and finish before it. Owned by RunCapture; one thread, the one that may trace.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "attach/base/result.h"
#include "daemon/collector/loop/capture.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/source.h"
#include "daemon/collector/target/stack_history.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/byte_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class CaptureLoop {
 public:
  using Sources = std::vector<std::unique_ptr<Source>>;
  using MakeOthers = std::function<Sources(const RecordedProcess& process, const CaptureContext& context)>;

  // All must outlive it.
  CaptureLoop(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop, const CaptureAids& aids);

  const CaptureContext& context() const { return context_; }
  // Errors: those of the stack source, and of the sink if its reader is gone.
  Result<void> Run(StackSource& stacks, const MakeOthers& make_others);
  bool has_begun() const { return has_begun_; }

 private:
  bool is_wanted() const { return !stop_.load(std::memory_order_relaxed); }
  Result<void> Begin();
  Result<void> PrepareAll();
  bool PrepareOthers();
  void ArmOthers(Nanos begun);
  void LetOthersIn(Nanos now);
  void KeepOthersAlive();
  void PollOthers(Nanos now, bool is_all);
  Nanos NextTurn(Nanos now) const;
  Nanos Patience() const;
  void LeaveOthers(Nanos patience);
  void FinishOthers(Nanos now);
  Result<void> Record();
  Result<void> Flush(Nanos now);
  Result<void> Finish(const EndInfo& end);
  void ReadCounters();

  const std::atomic<bool>& stop_;
  const CaptureAids aids_;
  StackTable stack_table_;
  Accounting accounting_;
  StackHistory history_{stack_table_};
  TraceWriter writer_;
  const CaptureContext context_;
  StackSource* stacks_ = nullptr;
  const MakeOthers* make_others_ = nullptr;
  Sources others_;
  bool has_made_others_ = false;
  bool has_begun_ = false;
  Nanos next_flush_;
  Nanos next_account_;
};

}  // namespace ptrace_prof
