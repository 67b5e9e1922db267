// Brings the bytes of the stub into a target and has them loaded there, by two texts of Python (bootstrap_text.h):
//
//   text 1 ──► an empty memfd in the target ──► filled by us ──► text 2 ──► loaded, the memfd closed
//
// The memfd is found by its name, checked and sealed before we touch it. Waiting costs no stop; a text that is not
// taken up is called back. While we hold the memfd a lock on it says so to other collectors (file_lock.h). One that
// was left by a collector that was killed is closed on the way; so is ours, should we be, by the next one. One thread.
#pragma once

#include <functional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/queued_call.h"
#include "attach/inject/strategy.h"
#include "attach/inject/stub_file.h"
#include "attach/inject/target_files.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

// Until when to wait for a target, and whether to go on at all: asked every millisecond or so from when a call waits in
// its queue (may be empty).
struct Patience {
  Nanos deadline;
  std::function<bool()> go_on;
};

// Waits until `seen` says that the effect of a text (or a call) has come about.
Result<void> AwaitEffect(const InjectionTarget& target, RunningText& text, const Patience& patience,
                         const std::function<Result<bool>()>& seen);

class Delivery {
 public:
  Delivery(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files, const StubFile& image,
           const Patience& patience)
      : target_(target), memory_(memory), files_(files), image_(image), patience_(patience) {}

  // Returns once `seen`. kAlreadyExists: another collector is at it.
  Result<void> Run(const InjectionStrategy& strategy, const std::function<Result<bool>()>& seen);

  const StopCost& cost() const { return cost_; }

 private:
  Result<TargetFile> MakeFile(const InjectionStrategy& strategy);
  Result<UniqueFd> FillFile(const TargetFile& file) const;
  Result<void> RunText(const InjectionStrategy& strategy, std::string_view text,
                       const std::function<Result<bool>()>& seen);

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  const StubFile& image_;
  const Patience& patience_;
  StopCost cost_;
};

}  // namespace ptrace_prof
