#include "daemon/collector/inspect/process_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/proc/access_diagnosis.h"
#include "attach/proc/maps.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/inspect/gpu_libraries.h"
#include "daemon/collector/inspect/gpu_outlook.h"
#include "daemon/collector/inspect/torch_profiler.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {
namespace {

struct SubjectRow {
  Reason reason;
  const char* subject;
};
constexpr SubjectRow kSubjects[] = {
    {Reason::kAlreadyTraced, "tracer"},
    {Reason::kSeccompDenied, "seccomp"},
    {Reason::kUserNamespace, "user-namespace"},
    {Reason::kCapabilityMissing, "capabilities"},
    {Reason::kTargetHasCapabilities, "capabilities"},
    {Reason::kCannotBecomeOwner, "capabilities"},
    {Reason::kCallerUidMismatch, "owner"},
    {Reason::kTargetChangedIds, "set-user-id"},
    {Reason::kTargetNotDumpable, "not-dumpable"},
    {Reason::kYamaDenied, "yama"},
    {Reason::kLsmDenied, "lsm"},
};

Check CheckTracer(Pid pid) {
  if (IsReadByGrant(pid)) {
    Error only = OnlyGrantedToRead(pid);
    return {pid, "tracer", Verdict::kLimited, std::move(only.message), std::move(only.remedy)};
  }
  const Result<ProcessStatus> status = ReadProcessStatus(pid);
  if (status.has_error() || status.value().tracer.value == 0) {
    return {pid, "tracer", Verdict::kOk, "no debugger is attached: its threads can be stopped for samples", ""};
  }
  const Pid tracer = status.value().tracer;
  const Result<ProcessStatus> other = ReadProcessStatus(tracer);
  return {pid,
          "tracer",
          Verdict::kLimited,
          fmt::format("it is traced by process {} ({}), and Linux allows one tracer: no thread can be stopped for a "
                      "sample, only --nonblocking works",
                      tracer.value, other.has_value() ? other.value().name : "name unknown"),
          "end that debugger or tracer, or sample with --nonblocking (stacks that change while they are read are "
          "marked torn)",
          Code::kOk,
          Reason::kAlreadyTraced};
}

Check CheckThreadStates(Pid pid) {
  const auto text = ReadProcFile(ProcTaskPath(pid, Tid(pid.value), "syscall"));
  if (text.has_value()) {
    return {pid, "thread-states", Verdict::kOk, "what a waiting thread waits for can be read", ""};
  }
  return {pid, "thread-states", Verdict::kLimited,
          fmt::format("what a waiting thread waits for cannot be read ({}): only whether it runs is known",
                      text.error().message),
          "run on a kernel with /proc/PID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK), as the user who may trace the process"};
}

Check CheckGpuLibraries(Pid pid, const std::vector<MemoryRegion>& regions) {
  const std::vector<std::string> libraries = GpuLibraries(regions);
  std::string names;
  for (const std::string& library : libraries) {
    names += (names.empty() ? "" : ", ") + library;
  }
  return {pid, "gpu-libraries", Verdict::kOk,
          names.empty() ? "it has loaded no GPU library" : "it has loaded " + names + ": GPU waits are reported", ""};
}

Check CheckGpu(Pid pid, const std::vector<MemoryRegion>& regions, RemoteMemory& memory,
               const Result<PythonProcess>& python, const FreeGpuMemory& free_gpu_memory) {
  GpuOutlook outlook = LookAtGpu(pid, regions);
  if (python.has_value()) {
    outlook.torch_profiler = CheckTorchProfiler(pid, memory, python.value());
  }
  Check check = JudgeGpu(pid, outlook);
  if (check.verdict != Verdict::kOk || !outlook.has_driver) {
    return check;
  }
  const std::optional<int64_t> free = free_gpu_memory();
  return free.has_value() ? JudgeGpuMemory(pid, *free, std::move(check)) : check;
}

}  // namespace

Check CheckRefusal(Pid pid, const Error& error) {
  const auto* row = std::ranges::find(kSubjects, error.reason, &SubjectRow::reason);
  return {pid,
          row == std::end(kSubjects) ? "process" : row->subject,
          Verdict::kMissing,
          error.message,
          error.remedy,
          error.code,
          ReasonOf(error)};
}

std::vector<Check> CheckReadable(Pid pid, const FreeGpuMemory& free_gpu_memory) {
  std::vector<Check> checks;
  const Result<ProcessStatus> status = ReadProcessStatus(pid);
  const std::string name = status.has_value() ? status.value().name : "name unknown";
  checks.push_back({pid, "access", Verdict::kOk, fmt::format("process {} ({}) can be read", pid.value, name), ""});
  ProcessMemory memory(pid);
  const Result<PythonProcess> python = PythonProcess::Open(pid, memory);
  if (python.has_value()) {
    checks.push_back({pid, "interpreter-layout", Verdict::kOk,
                      fmt::format("CPython {} in {}", python.value().version_text, python.value().binary), ""});
  } else {
    const Error& error = python.error();
    checks.push_back(
        {pid, "interpreter-layout", Verdict::kMissing, error.message, error.remedy, error.code, ReasonOf(error)});
  }
  checks.push_back(CheckTracer(pid));
  checks.push_back(CheckThreadStates(pid));
  const auto maps = ReadMaps(pid);
  const std::vector<MemoryRegion> regions = maps.has_value() ? maps.value() : std::vector<MemoryRegion>();
  checks.push_back(CheckGpuLibraries(pid, regions));
  checks.push_back(CheckGpu(pid, regions, memory, python, free_gpu_memory));
  return checks;
}

}  // namespace ptrace_prof
