// Carries out one RecordPlan: starts the capture, spools it, exports it, waits for the command if we started one.
//
// The exit status is the command's if we started one, else an ExitCode. One object, one run.
#pragma once

#include <memory>

#include "client/cli/exit_code.h"
#include "client/cli/interrupts.h"
#include "client/cli/record/record_plan.h"
#include "client/cli/record/spool_file.h"
#include "client/cli/record/trace_spooler.h"
#include "client/remote/capture_backend.h"

namespace ptrace_prof {

enum class Talk : uint8_t { kNormal, kErrorsOnly };

class RecordRun {
 public:
  RecordRun(CaptureBackend& backend, const RecordPlan& plan, Talk talk);
  int Run();

 private:
  ExitCode Capture(CaptureStream& stream, SpoolFile& spool);
  ExitCode Conclude(const TraceSpooler& spooler, SpoolFile& spool);
  ExitCode ConcludeWithoutSamples(const TraceSpooler& spooler, SpoolFile& spool);
  ExitCode Export(SpoolFile& spool);
  void KeepTrace(SpoolFile& spool);
  void HandOver(const TraceMeter& meter, Progress& progress);
  void FinishHandlers(const TraceSpooler& spooler, Progress& progress);
  void AbortOnNextInterrupt(const SpoolFile& spool);
  bool writes_to_file() const { return plan_.spool_base == plan_.output; }
  int StartFailed(const Error& error);
  void Say(std::string_view text) const;
  std::string Headline() const;
  void SayTotals(const TraceSpooler& spooler) const;

  CaptureBackend& backend_;
  const RecordPlan& plan_;
  const Talk talk_;
  Interrupts interrupts_;
  std::optional<TraceReady> trace_ready_;
};

}  // namespace ptrace_prof
