// Brings the bytes of a stub into a target and has them loaded there, by two texts of Python (bootstrap_text.h):
//
//   text 1 ──► an empty memfd in the target ──► filled by us ──► text 2 ──► loaded, the memfd closed
//
// The memfd is found by its name, checked and sealed before we touch it. Waiting costs no stop; a text that is not
// taken up is called back. While we hold the memfd a lock on it says so to other collectors (file_lock.h). One that
// was left by a collector that was killed is closed on the way; so is ours, should we be, by the next one. One thread.
#pragma once

#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/bootstrap_text.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/run_call.h"
#include "attach/inject/stub_kind.h"
#include "attach/inject/target_files.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class Delivery {
 public:
  Delivery(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files, const StubPackage& package,
           const Patience& patience)
      : target_(target), memory_(memory), files_(files), package_(package), patience_(patience) {}

  // Both texts go through /proc/self/fd of the target. kFailedPrecondition: it has none.
  static Result<void> CheckTarget(Pid pid);

  // Returns once `seen`. kAlreadyExists: another collector is at it.
  Result<void> Run(const EffectSeen& seen);

  // Where nothing is to be brought in: what collectors left that were killed while a text of theirs waited. Few at a
  // time, and only where a thread comes by within a second: else the next capture closes them.
  Result<void> CloseStrays();

  const RunReport& report() const { return report_; }

 private:
  Result<void> RunOnce(const EffectSeen& seen);
  bool MayTryAgain(const Result<void>& loaded) const;
  Result<void> AwaitClosing() const;
  Result<TargetFile> MakeFile();
  Result<UniqueFd> FillFile(const TargetFile& file) const;
  Result<std::vector<int32_t>> StillOpen(const std::vector<int32_t>& numbers) const;
  Result<void> CloseAll(std::vector<int32_t> numbers);
  Result<void> CloseInTurns(std::vector<int32_t> numbers, RunReport* report);

  const InjectionTarget& target_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  StubPackage package_;
  const Patience& patience_;
  RunReport report_;
};

}  // namespace ptrace_prof
