// Samples one process: the loop that everybody should read first.
//
// A round is one batched read of the interpreter's few words and of the stacks that can have changed, a walk over the
// bytes, and one buffered entry per thread. What is not known yet (a new frame, link or thread) costs extra reads
// once. Flush writes the buffered samples out after checking that their code objects still
// exist. The mark of the program (OpenedProcess) is read with the words: what an exec left of it is not taken for its
// successor, nor the other way round. Owned by Capture; one thread.
#pragma once

#include <memory>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/anchored_memory.h"
#include "attach/proc/process_memory.h"
#include "daemon/collect/capture_context.h"
#include "daemon/collect/chain_verifier.h"
#include "daemon/collect/interpreter_watch.h"
#include "daemon/collect/opened_process.h"
#include "daemon/collect/sample_buffer.h"
#include "daemon/collect/stack_linker.h"
#include "daemon/collect/thread_roster.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

struct StopRefusal {
  Error error;
  Nanos since;
};

class ProcessSampler {
 public:
  // As PythonProcess::Open. The process and its threads are announced to the writer. `shared`: see StackLinker.
  static Result<std::unique_ptr<ProcessSampler>> Open(Pid pid, Pid parent, const CaptureContext& context,
                                                      SharedLinks* shared = nullptr);
  ~ProcessSampler();

  // false: the process ended, or is another program now (exec): call Finish.
  bool Sample(Nanos now);
  void Flush();
  // After a Flush that precedes StackTable::Clear.
  void ForgetStacks();
  void Finish(Nanos now, bool exec);

  Pid pid() const { return pid_; }
  bool HasExited() const { return process_.HasExited(); }
  bool HasExeced() { return process_.HasExeced(memory_); }
  // Set while the kernel refuses to stop the process (`blocking`): another tracer holds it, perhaps only briefly.
  const std::optional<StopRefusal>& stop_refusal() const { return stop_refusal_; }
  const PythonProcess& python() const { return process_.python; }
  size_t thread_count() { return roster_.tracks().size(); }
  size_t node_count() const { return linker_.node_count(); }
  uint64_t read_calls() const { return memory_.calls(); }
  const ChainVerifier::Counters& verifier_counters() const { return verifier_.counters(); }
  ThreadRoster& roster() { return roster_; }
  RemoteMemory& memory() { return memory_; }

 private:
  ProcessSampler(OpenedProcess process, const CaptureContext& context, SharedLinks* shared);

  struct InBatch {
    ThreadTrack* track;
    size_t end;  // requests of the batch up to and including this thread's
  };

  bool RunsWithoutGil();
  bool NeedsWatch(Nanos now) const;
  size_t AppendWords();
  bool IsSameProgram() const;
  void AppendFirst();
  bool SampleLive(Nanos now);
  bool SampleStopped(Nanos now);
  void NoteRefusal(const Error& error, Nanos now);
  void AppendTrack(ThreadTrack& track);
  bool MayHaveMoved(const ThreadTrack& track, uint64_t switches) const;
  ReadStatus ReadBatch(size_t* filled);
  bool CollectTrack(ThreadTrack& track, Nanos read_at);
  bool Judge(ThreadTrack& track, CollectStatus collected);
  bool CollectBatch(size_t filled);
  bool CollectMoved();
  bool RefreshThreads(Nanos now);
  void Emit(Nanos now);
  void EmitTrack(Nanos now, ThreadTrack& track);
  void WatchState(Nanos now, ThreadTrack& track, bool holds_gil);

  const OpenedProcess process_;
  const Pid pid_;
  const CaptureContext context_;
  ProcessMemory memory_;
  AnchoredMemory space_;  // names and lists of threads are not looked up in another program
  CodeCache codes_;
  StackLinker linker_;
  ChainVerifier verifier_;
  SampleBuffer buffer_;
  InterpreterWatch watch_;
  ThreadRoster roster_;
  std::vector<ReadRequest> batch_;
  std::vector<InBatch> in_batch_;
  Nanos batch_read_at_;
  Nanos batch_read_by_;
  std::vector<ThreadTrack*> first_;
  std::vector<CollectStatus> collected_;
  uint64_t checked_generation_ = 0;
  std::optional<StopRefusal> stop_refusal_;
  Nanos watched_;  // when the interpreters' words were read last, and the mark of the program was in place
  uint64_t mark_word_ = 0;
  bool has_cuda_ = false;
};

}  // namespace ptrace_prof
