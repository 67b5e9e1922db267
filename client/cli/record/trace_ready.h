// What `record --on-trace-ready` does with each stretch of steps as soon as it was recorded: writes it as a file of its
// own, in PyTorch's JSON, and runs a command with it.
//
//   tensorboard:FOLDER      FOLDER/HOST_PID.NANOSECONDS.pt.trace.json, as torch.profiler.tensorboard_trace_handler
//   tensorboard-gz:FOLDER   likewise, compressed
//   exec:COMMAND            runs COMMAND, a program, with the path of the file as its argument; no shell is involved
//
// A thread of its own does all that, because the recording must not wait for it. Its messages wait until they are
// taken.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "client/cli/record/spool_file.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

struct TraceReadyPlan {
  std::string folder;  // "" is that of the output
  bool is_compressed = false;
  std::vector<std::string> commands;  // in order
};

// Nothing: nothing is to be done.
Result<std::optional<TraceReadyPlan>> ParseTraceReady(const std::vector<std::string>& handlers);

class TraceReady {
 public:
  // `spool` must outlive it: the trace that is being recorded. `output`: where the whole of it goes.
  TraceReady(TraceReadyPlan plan, const SpoolFile& spool, Pid pid, const std::string& output);
  ~TraceReady();
  TraceReady(const TraceReady&) = delete;
  TraceReady& operator=(const TraceReady&) = delete;

  // Everything in `window` is in the spool now; nullopt: everything.
  void Add(std::optional<TimeRange> window);
  // Waits until all is done, or only for what is being done now.
  void Finish(bool is_aborted);

  std::vector<std::string> TakeNotes();
  std::vector<Error> TakeErrors();
  size_t count() const { return added_; }
  bool has_failed_to_write() const { return has_failed_to_write_; }  // after Finish

 private:
  void Work();
  void Handle(const std::optional<TimeRange>& window);
  std::string NextPath() const;
  void Note(std::string text);
  void Report(Error error);

  const TraceReadyPlan plan_;
  const SpoolFile& spool_;
  const Pid pid_;
  size_t added_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<TimeRange>> waiting_;  // guarded by mutex_
  std::vector<std::string> notes_;                //
  std::vector<Error> errors_;                     //
  bool is_over_ = false;                          //
  bool has_failed_to_write_ = false;              // of the thread, until it has ended
  std::thread thread_;
};

}  // namespace ptrace_prof
