#include "attach/inject/gpu_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "attach/abi/gpu_arena.h"
#include "attach/inject/failure_text.h"
#include "attach/inject/sealed_memory.h"

namespace ptrace_prof {
namespace {

#define PP_STEP_WORDS(name, words) words,
constexpr std::string_view kGpuSteps[] = {PP_GPU_FOR_EACH_STEP(PP_STEP_WORDS)};
#undef PP_STEP_WORDS

struct Release {
  uint32_t version;  // the first version of this release
  std::string_view name;
};
constexpr Release kReleases[] = {
    {0, "CUDA before 11"},
    {13, "CUDA 11.0"},
    {14, "CUDA 11.1"},
    {15, "CUDA 11.4"},
    {16, "CUDA 11.5"},
    {17, "CUDA 11.6"},
    {18, "CUDA 11.8"},
    {19, "CUDA 12.0"},
    {20, "CUDA 12.2"},
    {21, "CUDA 12.3"},
    {22, "CUDA 12.4"},
    {23, "CUDA 12.5"},
    {24, "CUDA 12.6"},
    {26, "CUDA 12.8"},
    {27, "CUDA 12.9"},
    {28, "CUDA 12.9 update 1"},
    {130000, "CUDA 13.0"},
    {130001, "CUDA 13.0 update 1"},
    {130002, "CUDA 13.0 update 2"},
    {130100, "CUDA 13.1"},
    {130200, "CUDA 13.2"},
    {130300, "CUDA 13.3"},
    {130400, "CUDA 13.4"},
    {130500, "CUDA 13.5"},
    {130600, "CUDA after 13.5"},
};

// `{0}`: the process, `{1}`: CUPTI's release, `{2}`: the other tool, `{3}`: the step, `{4}`: the number.
constexpr std::string_view kGoesOn = "The Python part of the profile is not affected.";
constexpr FailureText kGpuFailures[] = {
    {PP_GPU_ERROR_SYSTEM_CALL, Reason::kInternal, "a system call failed in process {0}, {3}: error {4}", ""},
    {PP_GPU_ERROR_NO_MEMORY, Reason::kOutOfResources, "process {0} could not allocate the shared memory",
     "Check the memory limit of its container."},
    {PP_GPU_ERROR_NO_WIPE_ON_FORK, Reason::kKernelTooOld,
     "the kernel cannot hide memory of process {0} from its forked children",
     "Recording a GPU needs Linux 4.14 or later."},
    {PP_GPU_ERROR_TARGET_PID, Reason::kTracerNotLoaded,
     "the shim was loaded into a forked child instead of process {0}", "Try again."},
    {PP_GPU_ERROR_BOOT, Reason::kInternal, "the shim in process {0} received an invalid configuration", ""},
    {PP_GPU_ERROR_THREAD, Reason::kOutOfResources, "no thread could be started in process {0}: error {4}",
     "Check its limit of processes (ulimit -u) and that of its container."},
    {PP_GPU_ERROR_NO_LIBRARY, Reason::kCuptiBlocked, "process {0} has no usable libcupti",
     "Import torch (or load libcupti) in it first; a libcupti that is linked in statically cannot be used."},
    {PP_GPU_ERROR_NO_SYMBOL, Reason::kCuptiBlocked, "the libcupti of process {0} lacks required functions", kGoesOn},
    {PP_GPU_ERROR_TOO_OLD, Reason::kCuptiTooOld,
     "the CUPTI of process {0} is that of {1}, but CUDA 11.8 or later is needed",
     "Use a newer CUDA toolkit or PyTorch for the job."},
    {PP_GPU_ERROR_BAD_VERSION, Reason::kCuptiBlocked,
     "the CUPTI of process {0} is that of {1}, which is known to crash jobs, so it was not used",
     "Use CUDA 13.0 update 1 or later for the job, or insist with --force."},
    {PP_GPU_ERROR_CONFLICT, Reason::kConflictSubscriber,
     "CUPTI in process {0} is already used by {2}, and it serves only one tool at a time",
     "Stop that tool; the profiler of PyTorch keeps CUPTI for good unless the job runs with TEARDOWN_CUPTI=1."},
    {PP_GPU_ERROR_NOT_IN_USE, Reason::kNoCuda, "process {0} has not begun to use CUDA",
     "Try again once it works on its GPU."},
    {PP_GPU_ERROR_NO_DRIVER, Reason::kNoCuda,
     "process {0} has not loaded the CUDA driver: it does not use CUDA, or not yet",
     "Try again once it works on its GPU."},
    {PP_GPU_ERROR_DRIVER_TOO_OLD, Reason::kDriverTooOld,
     "the CUPTI of process {0} ({1}) does not start: the CUDA driver is too old for it, or CUDA has failed in the job",
     "Look for a CUDA error in the job's output; else install the driver that its CUDA toolkit requires."},
    {PP_GPU_ERROR_NO_PRIVILEGE, Reason::kNoPrivilege,
     "the driver does not allow the user of process {0} to record the GPU (CUPTI error {4})",
     "Ask the administrator about NVreg_RestrictProfilingToAdminUsers, or run the job with CAP_PERFMON."},
    {PP_GPU_ERROR_MPS, Reason::kMpsUnsafe,
     "process {0} shares its GPU through MPS, where the CUPTI of {1} can hang the process",
     "Use CUDA 13.0 update 1 and driver 580 or later, or insist with --force."},
    {PP_GPU_ERROR_UNSUPPORTED, Reason::kCuptiBlocked,
     "CUPTI cannot record the GPU of process {0}: it is virtual, partitioned, or in confidential mode (error {4})",
     kGoesOn},
    {PP_GPU_ERROR_CALL, Reason::kCuptiBlocked, "CUPTI failed in process {0}, {3}: error {4}", kGoesOn},
};

// `{0}`: the process, `{1}`: the step, `{2}`: the number.
constexpr std::string_view kUntilThen = "What was recorded until then is in the trace.";
constexpr std::string_view kAfterThatTool =
    "What was recorded until then is in the trace. Record again when that tool has ended.";
constexpr FailureText kEarlyEnds[] = {
    {PP_GPU_LEAVE_LEASE, Reason::kCancelled,
     "the shim in process {0} ended because ptrace-prof did not renew its lease in time", kUntilThen},
    {PP_GPU_LEAVE_FATAL, Reason::kCuptiBlocked, "CUPTI gave up in process {0} (error {2})", kUntilThen},
    {PP_GPU_LEAVE_BROKEN, Reason::kCuptiBlocked, "CUPTI failed in process {0}, {1}: error {2}", kUntilThen},
    {PP_GPU_LEAVE_TAKEN_OVER, Reason::kConflictSubscriber,
     "another tool (often the profiler of PyTorch) took over CUPTI in process {0}, so the GPU was no longer recorded",
     kAfterThatTool},
    {PP_GPU_LEAVE_CLOCK, Reason::kConflictSubscriber,
     "another tool (often the profiler of PyTorch) has changed the clock of CUPTI in process {0}", kAfterThatTool},
    {PP_GPU_LEAVE_EXIT, Reason::kTargetExited, "process {0} is ending", ""},
};

}  // namespace

std::string_view GpuStepWords(uint32_t step) {
  return step < std::size(kGpuSteps) ? kGpuSteps[step] : std::string_view();
}

std::string_view CuptiRelease(uint32_t version) {
  const auto after = std::ranges::upper_bound(kReleases, version, {}, &Release::version);
  return after == std::begin(kReleases) ? after->name : std::prev(after)->name;
}

Error GpuFailure(Pid pid, const GpuFailureFacts& facts) {
  const FailureText* text = FindFailureText(kGpuFailures, facts.error);
  if (text == nullptr) {
    return WrittenOver(fmt::format(
        "the GPU of process {} cannot be recorded: the shim failed with the unknown error {}", pid.value, facts.error));
  }
  const std::string tool = facts.other_tool.empty() ? "another tool (often the profiler of PyTorch)"
                                                    : fmt::format("\"{}\"", facts.other_tool);
  const bool is_errno = facts.error == PP_GPU_ERROR_SYSTEM_CALL || facts.error == PP_GPU_ERROR_THREAD;
  const std::string number = is_errno && facts.number > 0
                                 ? fmt::format("{} ({})", facts.number, ::strerror(facts.number))
                                 : fmt::format("{}", facts.number);
  return Because(text->reason,
                 fmt::format(fmt::runtime(text->message), pid.value, CuptiRelease(facts.version), tool,
                             GpuStepWords(facts.step), number),
                 std::string(text->remedy), ThingOf(pid));
}

Error GpuEarlyEnd(Pid pid, uint32_t cause, const GpuFailureFacts& facts) {
  const FailureText* text = FindFailureText(kEarlyEnds, cause);
  if (text == nullptr) {
    return {Code::kOk, "", ""};
  }
  return Because(text->reason,
                 fmt::format(fmt::runtime(text->message), pid.value, GpuStepWords(facts.step), facts.number),
                 std::string(text->remedy), ThingOf(pid));
}

}  // namespace ptrace_prof
