// The target and its descendants: opens new ones and closes those that ended.
//
// A child that is no Python process (yet) is tried again for a while, ever less often. While it shares its parent's
// memory (vfork) it is not tried. A process that exec'ed is closed and opened anew. If the target itself is no Python
// process (a shell, a launcher) and its descendants are recorded, it is waited for as long as it lives. Beyond
// kMaxProcesses at once, children are not followed (fork bombs), and a notice says so. Owned by SamplingSource; one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "daemon/collector/sample/child_watch.h"
#include "daemon/collector/sample/pacer.h"
#include "daemon/collector/sample/process_sampler.h"
#include "daemon/collector/sample/stop_times.h"

namespace ptrace_prof {

class ProcessTree {
 public:
  static constexpr size_t kMaxProcesses = 256;

  using OnClose = std::function<void(ProcessSampler&)>;

  // `on_close` is called for each process that closes, before its threads end in the trace.
  explicit ProcessTree(const CaptureContext& context, OnClose on_close = {})
      : context_(context), on_close_(std::move(on_close)) {}

  // Opens the requested process. Its error is the error of the capture.
  Result<void> OpenRoot();
  // The next instant of any process; a time in the past if one has none yet.
  Nanos NextInstant() const;
  // Samples what is due; closes what ended.
  void Sample(Pacer& pacer);
  // Some thread was asked to stop and has not yet: call PollLate soon, and at each SIGCHLD.
  bool is_waiting_for_stop() const;
  void PollLate();
  // The longest total time for which one process has been stopped.
  Nanos stopped_most() const;
  // Finds new children, retries candidates and sometimes checks for exits. Call every few ms so that children are
  // noticed early.
  void Look(Nanos now);
  void Flush();
  void ForgetStacks();

  bool has_opened() const { return processes_ > 0; }  // there is or was a Python process
  bool empty() const { return samplers_.empty(); }
  // Something may still become a Python process.
  bool is_waiting() const { return !candidates_.empty() || launcher_.is_open(); }
  // The target has exec'ed another program. Whether that program still runs or is Python is not known here.
  bool has_execed() const { return has_execed_; }
  // The target has just exec'ed, and it is not known yet whether the new program is Python.
  bool IsStartingAgain() const;
  // Refusal to stop the target, or, if it is a launcher, all of its processes (see ProcessSampler).
  const StopRefusal* stop_refusal() const;  // null: none
  size_t node_count() const;
  void CountInto(Accounting& accounting) const;
  // Writes the final notices: what was missed, and which processes stood still.
  void ReportAtEnd(Nanos now);
  const std::vector<std::unique_ptr<ProcessSampler>>& samplers() const { return samplers_; }

 private:
  struct Candidate {
    Pid parent;
    Nanos next_try;
    Nanos interval;
    int tries = 0;
    bool is_counted = false;  // it was a Python process before: an exec does not make it another one
  };

  bool OpenDescendants();
  void LetGo(Nanos now);
  void ReportUnseen(Nanos now);
  void ReportStandstill(Nanos now, const ProcessSampler& sampler);
  void FindChildren(Nanos now);
  void TryCandidates(Nanos now);
  static bool MayOpenLater(Pid pid, const Candidate& candidate, const Error& error);
  void ReportTooMany(Nanos now);
  bool MayFollow(Pid pid, Nanos now);
  void Close(size_t index, Nanos now);

  const CaptureContext context_;
  const OnClose on_close_;
  std::vector<std::unique_ptr<ProcessSampler>> samplers_;
  std::unordered_map<Pid, Candidate> candidates_;
  ChildWatch children_;
  UniqueFd launcher_;  // pidfd of the target while it lives, if it is no Python process
  Nanos next_exits_;
  size_t stood_still_ = 0;       // processes that stood still
  uint64_t ended_unopened_ = 0;  // children that ended before they were identified
  bool has_execed_ = false;
  uint64_t processes_ = 0;
  bool is_reported_too_many_ = false;
  size_t denied_ = 0;  // processes that the judge refused
  uint64_t closed_read_calls_ = 0;
  StopTimes closed_stops_;
};

}  // namespace ptrace_prof
