// The target and its descendants: finds new children, tries to open them, lets go of those that ended.
//
// A child that is not (yet) a Python process is tried again for a while, ever less often; a process that exec'ed
// is closed and opened anew. Bounded: beyond kMaxProcesses at once children are not followed (fork bombs), which a
// notice says. Owned by Capture; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/collect/process_sampler.h"
#include "daemon/collect/shared_links.h"

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
  // Samples everything; drops what ended.
  void Sample(Nanos now);
  // A few times a second: new children, retries, exits.
  void Look(Nanos now);
  void Flush();
  void ForgetStacks();

  bool has_opened() const { return processes_ > 0; }  // there was a Python process, or is
  bool empty() const { return samplers_.empty(); }
  bool is_waiting() const { return !candidates_.empty(); }  // something may still become a Python process
  // The target has become another program; whether it runs on, or what that is, is not known here.
  bool has_execed() const { return has_execed_; }
  // Of the target: see ProcessSampler.
  const StopRefusal* stop_refusal() const;  // null: none
  size_t node_count() const;
  void CountInto(Accounting& accounting) const;
  const std::vector<std::unique_ptr<ProcessSampler>>& samplers() const { return samplers_; }

 private:
  struct Candidate {
    Pid parent;
    Nanos next_try;
    Nanos interval;
    int tries = 0;
    bool fresh_exec = false;
  };

  void FindChildren(Nanos now, Pid of);
  void TryCandidates(Nanos now);
  void TellTooMany(Nanos now);
  bool MayFollow(Pid pid, Nanos now);
  void Close(size_t index, Nanos now);

  const CaptureContext context_;
  const OnClose on_close_;
  SharedLinks links_;
  std::vector<std::unique_ptr<ProcessSampler>> samplers_;
  std::unordered_map<Pid, Candidate> candidates_;
  std::unordered_map<Pid, Nanos> known_;  // every process ever looked at, by start time: pids are reused
  bool has_execed_ = false;
  uint64_t processes_ = 0;
  bool is_told_too_many_ = false;
  size_t denied_ = 0;  // processes that the judge had something against
  uint64_t closed_read_calls_ = 0;
  uint64_t closed_stops_ = 0;
  Nanos closed_stopped_;
  Nanos closed_stopped_longest_;
};

}  // namespace ptrace_prof
