// Asks every thread of the interpreter to run a script at its next safe point (PEP 768). The job's own debuggers do the
// same, and its audit hooks see it.
//
//   asked ──► taken (by at least one thread; the first one runs the text of the script) ──► cleared
//     └─────► taken back ─────────────────────────────────────────────────────────────────► cleared
//
// All threads that we know of are asked, because one may never run Python again. A thread that has a waiting script of
// another debugger is skipped. Cleared: no thread is asked any more, the paths are wiped, and all threads that took the
// script have read it. Only then is the file removed, because a thread that does not find it would print an error on
// the job's stderr.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/script_files.h"
#include "attach/inject/script_threads.h"
#include "attach/inject/strategy.h"
#include "attach/inject/timed_stop.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kClearPatience = Nanos::FromSeconds(1);
constexpr Nanos kReadingPatience = Nanos::FromSeconds(1);
constexpr Nanos kReadingPause = Nanos(200'000);

Result<void> ScriptApplies(const InjectionTarget& target) {
  PP_RETURN_IF_ERROR(CheckWelcome(target));
  if (!target.scripts || target.script_files == nullptr) {
    return Error{Code::kUnimplemented,
                 fmt::format("the threads of process {} cannot run a remote script", target.pid.value),
                 "Sample it instead (record without --mode trace)."};
  }
  return CheckStoppable(target.pid);
}

class ScriptedCall final : public RunningCall {
 public:
  ScriptedCall(const InjectionTarget& target, RemoteMemory& memory, std::string path)
      : pid_(target.pid),
        files_(*target.script_files),
        threads_(target.pid, memory, *target.scripts),
        path_(std::move(path)) {}
  ~ScriptedCall() override { static_cast<void>(Withdraw().has_value()); }

  Result<void> Begin(std::string_view prefix, const Patience& patience) {
    return RetryStops([&] { return TryAsk(prefix, patience); }, NotStopped(), patience);
  }

  Result<bool> Taken() override {
    if (cleared_) {
      return taken_ > 0;
    }
    for (const RemoteAddr thread : asked_) {
      PP_ASSIGN_OR_RETURN(const ScriptRequest request, threads_.Read(thread));
      if (request.path == path_ && !request.waits) {
        return true;
      }
    }
    return false;
  }
  Result<void> Remind() override { return {}; }  // a thread that was asked checks by itself at its next safe point

  Result<Withdrawal> Withdraw() override {
    if (!cleared_) {
      const Result<void> cleared =
          asked_.empty() ? Result<void>()
                         : RetryStops([&] { return TryClear(); }, NotStopped(), MonotonicNow() + kClearPatience);
      if (cleared.has_error() && cleared.error().code != Code::kGone) {
        static_cast<void>(files_.Empty().has_value());
        return Withdrawal::kLeft;
      }
      cleared_ = true;
      AwaitReaders();
      PP_RETURN_IF_ERROR(files_.Remove());
      PP_RETURN_IF_ERROR(cleared);
    }
    return taken_ > 0 ? Withdrawal::kTaken : Withdrawal::kTakenBack;
  }
  const StopCost& cost() const override { return cost_; }

 private:
  Result<bool> TryAsk(std::string_view prefix, const Patience& patience) {
    PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(pid_));
    const TimedStop stop(std::move(threads), cost_);
    PP_ASSIGN_OR_RETURN(const bool may_begin, patience.may_begin());
    if (!may_begin) {
      return false;
    }
    PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> all, threads_.List());
    for (const RemoteAddr thread : all) {
      PP_ASSIGN_OR_RETURN(const ScriptRequest before, threads_.Read(thread));
      const bool foreign = before.waits && before.path.find(prefix) == std::string::npos;
      if (!foreign) {
        asked_.push_back(thread);
        PP_RETURN_IF_ERROR(threads_.Ask(thread, path_));
      }
    }
    if (asked_.empty()) {
      return Because(
          Reason::kForeignScript,
          fmt::format("another debugger is about to run its script in the threads of process {}", pid_.value),
          "Try again when it is done.", ThingOf(pid_));
    }
    return true;
  }

  Result<bool> TryClear() {
    PP_ASSIGN_OR_RETURN(StoppedThreads threads, StopForAMoment(pid_));
    const TimedStop stop(std::move(threads), cost_);
    PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> alive, threads_.List());
    taken_ = 0;
    for (const RemoteAddr thread : asked_) {
      if (std::ranges::find(alive, thread) == alive.end()) {
        continue;
      }
      PP_ASSIGN_OR_RETURN(const ScriptRequest request, threads_.Read(thread));
      if (request.path == path_) {
        taken_ += request.waits ? 0 : 1;
        PP_RETURN_IF_ERROR(threads_.Clear(thread, path_.size()));
      }
    }
    return true;
  }

  void AwaitReaders() {
    const Nanos deadline = MonotonicNow() + kReadingPatience;
    while (taken_ > 0 && MonotonicNow() < deadline) {
      const Result<uint32_t> readers = files_.Readers();
      if (readers.has_error() || readers.value() >= taken_) {
        return;
      }
      const timespec pause{0, kReadingPause.value};
      ::nanosleep(&pause, nullptr);
    }
  }

  Pid pid_;
  ScriptFiles& files_;
  ScriptThreads threads_;
  std::string path_;
  std::vector<RemoteAddr> asked_;
  uint32_t taken_ = 0;
  bool cleared_ = false;
  StopCost cost_;
};

Result<std::unique_ptr<RunningCall>> PerformInScript(const InjectionTarget& target, RemoteMemory& memory,
                                                     const InjectedCall& call, const Patience& patience) {
  if (call.text.empty()) {
    return Error{Code::kUnimplemented, "a script cannot call native functions", ""};
  }
  PP_ASSIGN_OR_RETURN(const std::string prefix, ScriptPrefix(target.pid));
  PP_ASSIGN_OR_RETURN(std::string path, target.script_files->Make());
  auto scripted = std::make_unique<ScriptedCall>(target, memory, path);
  if (path.size() >= target.scripts->path_bytes) {
    return Error{Code::kUnavailable, fmt::format("the path {} is too long for a script", path), ""};
  }
  PP_RETURN_IF_ERROR(target.script_files->Fill(AsScript(call.text, target.own_pid, path)));
  PP_RETURN_IF_ERROR(scripted->Begin(prefix, patience));
  return std::unique_ptr<RunningCall>(std::move(scripted));
}

}  // namespace

const InjectionStrategy kScriptStrategy{"script", InjectionTurn::kLastResort, ScriptApplies, PerformInScript};

}  // namespace ptrace_prof
