// The target and its descendants: opens those that are born, lets go of those that ended.
//
// A child that is not (yet) a Python process is tried again for a while, ever less often, and not before its exec where
// it has its parent's memory until then (vfork); a process that exec'ed is closed and opened anew. A target that is no
// Python itself (a shell, a launcher) is waited for as long as it lives, where its descendants are recorded. Bounded:
// beyond kMaxProcesses at once children are not followed (fork bombs), which a notice says. Owned by Capture; one
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

  // `on_close`: hears of each that goes, while it is still there and its threads have not ended in the trace.
  explicit ProcessTree(const CaptureContext& context, OnClose on_close = {})
      : context_(context), on_close_(std::move(on_close)) {}

  // Opens the process the request names. Its error is the capture's.
  Result<void> OpenRoot();
  // The next instant of any process; the past where one has none yet.
  Nanos NextInstant() const;
  // Samples what is due; drops what ended.
  void Sample(Pacer& pacer);
  // Some thread was asked to stop and has not yet: PollLate must be called soon, and when a SIGCHLD comes.
  bool is_waiting_for_stop() const;
  void PollLate();
  // For how long the process that stood still most has stood still.
  Nanos stopped_most() const;
  // Every few ms, so that children are noticed at their birth: new children, retries; exits now and then.
  void Look(Nanos now);
  void Flush();
  void ForgetStacks();

  bool has_opened() const { return processes_ > 0; }  // there was a Python process, or is
  bool empty() const { return samplers_.empty(); }
  // Something may still become a Python process.
  bool is_waiting() const { return !candidates_.empty() || launcher_.is_open(); }
  // The target has become another program; whether it runs on, or what that is, is not known here.
  bool has_execed() const { return has_execed_; }
  // It has just become another program (exec), of which it is not known yet whether Python will run in it.
  bool IsStartingAgain() const;
  // Of the target, or of all that there are where it is a launcher: see ProcessSampler.
  const StopRefusal* stop_refusal() const;  // null: none
  size_t node_count() const;
  void CountInto(Accounting& accounting) const;
  // Says at the end what was missed, and who stood still.
  void TellAtEnd(Nanos now);
  const std::vector<std::unique_ptr<ProcessSampler>>& samplers() const { return samplers_; }

 private:
  struct Candidate {
    Pid parent;
    Nanos next_try;
    Nanos interval;
    int tries = 0;
    bool is_counted = false;  // it was a Python process before: another image (exec) is no other process
  };

  bool OpenDescendants();
  void LetGo(Nanos now);
  void TellUnseen(Nanos now);
  void TellStandstill(Nanos now, const ProcessSampler& sampler);
  void FindChildren(Nanos now);
  void TryCandidates(Nanos now);
  static bool MayOpenLater(Pid pid, const Candidate& candidate, const Error& error);
  void TellTooMany(Nanos now);
  bool MayFollow(Pid pid, Nanos now);
  void Close(size_t index, Nanos now);

  const CaptureContext context_;
  const OnClose on_close_;
  std::vector<std::unique_ptr<ProcessSampler>> samplers_;
  std::unordered_map<Pid, Candidate> candidates_;
  ChildWatch children_;
  UniqueFd launcher_;  // pidfd of the target, if it is no Python, while it lives
  Nanos next_exits_;
  size_t stood_still_ = 0;       // processes that did
  uint64_t ended_unopened_ = 0;  // children that were gone before it was known what they are
  bool has_execed_ = false;
  uint64_t processes_ = 0;
  bool is_told_too_many_ = false;
  size_t denied_ = 0;  // processes that the judge had something against
  uint64_t closed_read_calls_ = 0;
  StopTimes closed_stops_;
};

}  // namespace ptrace_prof
