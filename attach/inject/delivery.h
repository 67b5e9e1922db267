// Brings a stub into a target and loads it there, by two Python texts (bootstrap_text.h):
//
//   text 1 ──► an empty memfd in the target ──► filled by us ──► text 2 ──► loaded, the memfd closed
//
// The memfd is found by its name, checked and sealed before we access it. Waiting costs no stop; a text that no thread
// takes up is cancelled. While we hold the memfd, a lock on it shows this to other collectors (file_lock.h). A memfd
// that a killed collector left is closed on the way; if we are killed, the next collector closes ours. One thread.
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

  // Both texts use /proc/self/fd of the target. kFailedPrecondition: the target has no /proc.
  static Result<void> CheckTarget(Pid pid);

  // Returns once `seen` is true. kAlreadyExists: another collector is working on the target.
  Result<void> Run(const EffectSeen& seen);

  // For a target that needs no new stub: closes the files left by collectors that were killed while a text of theirs
  // waited. Closes few at a time, and only if a thread runs the text within a second; the next capture closes the rest.
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
