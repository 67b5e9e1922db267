#include "daemon/collector/collector_main.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/capability_sets.h"
#include "attach/base/real_time.h"
#include "attach/proc/access_diagnosis.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/procfs.h"
#include "attach/ptrace/held_start.h"
#include "daemon/collector/inspect/doctor.h"
#include "daemon/collector/inspect/gpu_library.h"
#include "daemon/collector/inspect/process_list.h"
#include "daemon/collector/loop/capture.h"
#include "daemon/collector/nvml/nvml_counters.h"
#include "daemon/collector/sample/python_descendants.h"
#include "daemon/collector/sandbox/child_policy.h"
#include "daemon/collector/sandbox/command_launch.h"
#include "daemon/collector/sandbox/confinement.h"
#include "daemon/collector/sandbox/owner_child.h"
#include "daemon/collector/sandbox/pipe_sink.h"
#include "daemon/collector/sandbox/rights.h"
#include "daemon/collector/sandbox/stop_line.h"
#include "daemon/collector/sandbox/system_call_filter.h"
#include "daemon/collector/target/script_keeper.h"
#include "daemon/launcher/memory_grantor.h"
#include "daemon/server/policy/child_rules.h"
#include "daemon/trace/write/trace_writer.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

constexpr int kEndingMs = 200;
constexpr std::string_view kMemoryLineWord = "memory_line=";  // as of daemon/launcher/start_collector.cc

struct Invocation {
  UniqueFd stream;
  UniqueFd control;
  UniqueFd memory;  // the line to who grants it; closed: there is none
  std::string task;
  std::vector<std::string> command;
};

Result<UniqueFd> TakeFd(const char* text) {
  char* end = nullptr;
  const long fd = ::strtol(text, &end, 10);
  if (end == text || *end != '\0' || fd < 3 || fd > 1 << 20 ||
      ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC) != 0) {
    return Error{Code::kInvalidArgument, std::string("not a file descriptor of the collector: ") + text, ""};
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<Invocation> ParseInvocation(int argc, char** argv) {
  if (argc < 4) {
    return Error{Code::kInvalidArgument, "this is an internal command of ptrace-prof", ""};
  }
  Invocation invocation;
  PP_ASSIGN_OR_RETURN(invocation.stream, TakeFd(argv[2]));
  PP_ASSIGN_OR_RETURN(invocation.control, TakeFd(argv[3]));
  int i = 4;
  if (const std::string_view first(argc > i ? argv[i] : ""); first.starts_with(kMemoryLineWord)) {
    PP_ASSIGN_OR_RETURN(invocation.memory, TakeFd(argv[i++] + kMemoryLineWord.size()));
  }
  invocation.task = argc > i ? argv[i++] : "";
  if (i < argc && std::string_view(argv[i]) == "--") {
    invocation.command.assign(argv + i + 1, argv + argc);
  }
  return invocation;
}

// Between us and the command a signal from the terminal must not end us; what is ignored now stays so in the command.
void OutliveTerminalSignals() {
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) {
      now = {};
      now.sa_handler = [](int) {};
      ::sigaction(number, &now, nullptr);
    }
  }
}

// 0 too where it ended meanwhile: the capture will say so.
int AskKernel(Pid pid) {
  const int refused = ProbeMemory(pid);
  return refused == ESRCH ? 0 : refused;
}

// A command of ours that ended at once is a target that ended, not a zombie or one that may not be read: what is left
// of a process that is about to end is neither.
Result<void> CheckLaunched(Pid pid) {
  const auto pidfd = OpenPidfd(pid);
  pollfd ended{pidfd.has_error() ? -1 : pidfd.value().get(), POLLIN, 0};
  if (pidfd.has_error() || ::poll(&ended, 1, kEndingMs) > 0) {
    return Because(Reason::kTargetExited, "the command ended before it started a Python interpreter");
  }
  return {};
}

// What of a target is needed: to have it read alone, or also to have it stopped, or traced.
enum class Need { kReading, kStopping };

// Where nothing but Yama keeps the target from its owner, root's right goes to somebody who opens its memory and parses
// nothing, so that we need none. Not for what takes a tracer: rights of that kind cannot be handed over.
void DelegateOpening(const ProcessStatus& owner) {
  if (!HasMemoryGrants() && (PermittedCapabilities() & kSysPtrace) != 0) {
    UseMemoryGrants(StartMemoryGrantor({.uid = Uid(owner.uid_real), .gid = Gid(owner.gid_real)}).line);
  }
}

Result<void> Harden(Pid pid, Need need) {
  PP_RETURN_IF_ERROR(CheckTarget(pid));
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  const Asker asker = CurrentAsker();
  if (need == Need::kReading) {
    DelegateOpening(status);
  }
  int refused = 0;
  const auto probe = [&] { return refused = AskKernel(pid); };
  auto kept = SurrenderRights({.uid = status.uid_real, .gid = status.gid_real}, probe);
  if (kept.has_error()) {
    return refused != 0 ? ExplainRefusal(pid, refused, asker) : std::move(kept).error();
  }
  return {};
}

// A launcher (timeout, sudo, a shell) is easily taken for the Python process that it started.
Error WithAdvice(Error error, Pid pid) {
  if (error.code != Code::kFailedPrecondition || !error.remedy.empty()) {
    return error;
  }
  error.remedy = AdviceForLauncher(pid);
  if (error.remedy.empty() && error.reason == Reason::kNotPython) {
    error.remedy = "`ptrace-prof ps` lists the running Python processes";
  }
  return error;
}

// A pid is used again; who asked may have meant its owner of then.
Result<void> CheckStart(const CaptureTask& request) {
  if (request.spec().target().start_time_ticks() == 0) {
    return {};
  }
  PP_ASSIGN_OR_RETURN(const uint64_t ticks, ReadStartTicks(TargetOf(request)));
  if (ticks != request.spec().target().start_time_ticks()) {
    return Because(Reason::kProcessNotFound,
                   fmt::format("process {} is not the requested one: its start time differs, so the pid was reused",
                               TargetOf(request).value),
                   "list the processes again", ThingOf(TargetOf(request)));
  }
  return {};
}

Result<void> CaptureHardened(const CaptureTask& request, ByteSink& sink, UniqueFd control, ChildJudge judge) {
  PP_RETURN_IF_ERROR(CheckStart(request));
  const bool only_reads = !EntersTarget(request.spec());
  if (!AllowRealTime() && only_reads) {
    TakeRealTimeForGood();
  }
  PP_RETURN_IF_ERROR(Harden(TargetOf(request), only_reads && StopsOf(request.spec().sample()) != StopPolicy::kAll
                                                   ? Need::kReading
                                                   : Need::kStopping));
  std::unique_ptr<ScriptKeeper> scripts;
  if (!only_reads) {
    auto started = ScriptKeeper::Start(TargetOf(request));
    scripts = started.has_value() ? std::move(started).value() : nullptr;  // there are other ways in
  }
  const bool has_gpu = HasGpu(request.spec());
  const auto counters = request.verb() == CaptureTask::RECORD
                            ? NvmlCounters::Start(request.spec().gpu_counters(), has_gpu && !request.spec().force())
                            : nullptr;
  LimitResources(only_reads ? 0 : kMostTracerBytes);
  PP_ASSIGN_OR_RETURN(const StopLine line, StopLine::Watch(std::move(control)));
  PP_RETURN_IF_ERROR(RequireSystemCallFilter(only_reads ? TargetAccess::kRead : TargetAccess::kWrite));
  return RunCapture(request, sink, line.stop(), {scripts.get(), counters.get(), std::move(judge), &line.sharers()});
}

Result<void> Capture(const CaptureTask& request, ByteSink& sink, UniqueFd control, ChildJudge judge) {
  auto outcome = CaptureHardened(request, sink, std::move(control), std::move(judge));
  if (outcome.has_error() && request.spec().sample().wait_for_python()) {
    PP_RETURN_IF_ERROR(CheckLaunched(TargetOf(request)));  // it may have ended anywhere on the way
  }
  return outcome.has_error() ? WithAdvice(std::move(outcome).error(), TargetOf(request)) : std::move(outcome);
}

// A process of a listing that does not answer for so long is left out.
constexpr Nanos kListPatience = Nanos::FromSeconds(2);

OwnerReport RunConfined(const OwnerWork& work) {
  OwnerChildReport report =
      RunAsOwner({.uid = work.uid.value, .gid = work.gid.value}, work.probe, work.work, kListPatience);
  return {std::move(report.bytes), std::move(report.ended)};
}

Result<void> List(const CaptureTask& request, ByteSink& sink, UniqueFd control) {
  LimitResources(0);
  PP_ASSIGN_OR_RETURN(const StopLine line, StopLine::Watch(std::move(control)));
  PP_ASSIGN_OR_RETURN(const bool has_rights, KeepRightsToStartOwners());
  if (has_rights) {  // what children say that were at targets is hostile; who has no rights has his users' names looked
                     // up
    PP_RETURN_IF_ERROR(RequireSystemCallFilter(TargetAccess::kList));
  }
  const StackTable stacks;
  TraceWriter writer(sink, stacks, request);
  PP_RETURN_IF_ERROR(ListProcesses(RunConfined, line.stop(), writer));
  return writer.End(MonotonicNow(), Accounting{}, EndInfo{});
}

// NVIDIA's driver takes a while to come up if no process uses it.
constexpr Nanos kGpuPatience = Nanos::FromSeconds(1);

Result<void> Doctor(const CaptureTask& request, ByteSink& sink, UniqueFd) {
  std::unique_ptr<NvmlCounters> gpus;
  const auto harden = [&]() -> Result<void> {
    PP_RETURN_IF_ERROR(Harden(TargetOf(request), Need::kStopping));  // its error also says that stopping is impossible
    gpus = UsesCuda(TargetOf(request)) ? NvmlCounters::Start(v1::GPU_COUNTERS_OFF, true) : nullptr;
    LimitResources(0);
    return RequireSystemCallFilter(TargetAccess::kRead);
  };
  const auto free_gpu_memory = [&] {
    return gpus != nullptr ? gpus->FreeMemoryOf(TargetOf(request), kGpuPatience) : std::nullopt;
  };
  const StackTable stacks;
  TraceWriter writer(sink, stacks, request);
  Diagnose(TargetOf(request), harden, free_gpu_memory, writer);
  return writer.End(MonotonicNow(), Accounting{}, EndInfo{});
}

// Takes the rules out of the task: the header of the trace does not hold them.
Result<ChildJudge> TakeJudge(CaptureTask* task) {
  if (task->child_rules().empty()) {
    return ChildJudge();
  }
  PP_ASSIGN_OR_RETURN(Policy rules, DecodeChildRules(task->child_rules()));
  task->clear_child_rules();
  return ChildJudge([rules = std::move(rules)](Pid pid) { return WhyNotFollow(rules, pid); });
}

Result<void> RunVerb(const CaptureTask& request, ByteSink& sink, UniqueFd control, ChildJudge judge) {
  switch (request.verb()) {
    case CaptureTask::RECORD:
    case CaptureTask::DUMP: return Capture(request, sink, std::move(control), std::move(judge));
    case CaptureTask::LIST: return List(request, sink, std::move(control));
    case CaptureTask::DOCTOR: return Doctor(request, sink, std::move(control));
    default: return {};
  }
}

// A trace of calls must begin with the first call. The GPU shim comes in by a thread of the target, which must run.
LaunchHold HoldFor(const CaptureTask& request) {
  if (!MayTrace(request.spec().mode()) || HasGpu(request.spec()) || WantsTorch(request.spec())) {
    return {};
  }
  constexpr Nanos kStep = Nanos::FromMillis(1);
  return {[](Pid pid) { HoldStart(pid); }, [kStep] { PauseOrStep(kStep); }, [] { LetStartGo(); }};
}

}  // namespace

int CollectorMain(int argc, char** argv) {
  OutliveTerminalSignals();
  ::prctl(PR_SET_NAME, "ptrace-prof-col");  // otherwise the list of processes shows "exe"
  auto parsed = ParseInvocation(argc, argv);
  if (parsed.has_error()) {
    return 2;
  }
  Invocation& invocation = parsed.value();
  auto request = DecodeTask(invocation.task);
  if (request.has_value() && !invocation.command.empty()) {
    auto launched = LaunchCommand(invocation.command, invocation.control.get(), HoldFor(request.value()));
    if (launched.has_error()) {
      return 1;  // the parent has the error
    }
    SetTarget(launched.value(), &request.value());
    request.value().mutable_spec()->mutable_sample()->set_wait_for_python(true);
  }
  std::vector<int> kept{invocation.stream.get(), invocation.control.get()};
  if (invocation.memory.is_open()) {
    kept.push_back(invocation.memory.get());
  }
  LeaveTerminal(std::move(kept));
  UseMemoryGrants(std::move(invocation.memory));
  PipeSink sink(std::move(invocation.stream));
  const auto run = [&]() -> Result<void> {
    PP_RETURN_IF_ERROR(request);
    PP_ASSIGN_OR_RETURN(ChildJudge judge, TakeJudge(&request.value()));
    return RunVerb(request.value(), sink, std::move(invocation.control), std::move(judge));
  };
  const Result<void> outcome = run();
  if (!outcome.has_error()) {
    return 0;
  }
  // Nothing was recorded; the reason is the whole trace.
  const StackTable stacks;
  TraceWriter writer(sink, stacks, request.has_value() ? request.value() : CaptureTask{});
  return writer.End(MonotonicNow(), Accounting{}, EndOf(outcome.error())).has_error() ? 1 : 0;
}

}  // namespace ptrace_prof
