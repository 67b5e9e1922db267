#include "attach/inject/job_limits.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "attach/proc/memory_group.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/process_limits.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kDescriptors = 4;  // at once: the loaded file, the shared memory, and those that a text opens
constexpr int kMostParents = 64;      // up to the first process of a PID namespace

struct Job {
  Pid pid;
  ProcessStatus status;
  std::string limits;  // text of /proc/<pid>/limits
};

// How much of a limit a job has used, how much we need, and how much to leave for the job.
struct Share {
  uint64_t used = 0, needed = 0, kept = 0;
};

Share OfFileSize(const Job&, const JobNeeds& needs) { return {0, needs.shared_bytes, 0}; }

Share OfAddressSpace(const Job& job, const JobNeeds& needs) {
  return {job.status.memory_size, needs.shared_bytes + needs.private_bytes, 64 * kMebibyte};
}

Share OfData(const Job& job, const JobNeeds& needs) {
  return {job.status.memory_data, needs.private_bytes, 16 * kMebibyte};
}

// If most of its memory is locked, new mappings will be locked too (mlockall(MCL_FUTURE), which the kernel does not
// show).
Share OfLockedMemory(const Job& job, const JobNeeds& needs) {
  const bool is_all = job.status.memory_locked > job.status.memory_size / 2;
  const bool may_exceed = (job.status.cap_effective >> CAP_IPC_LOCK & 1) != 0;
  return is_all && !may_exceed ? Share{job.status.memory_locked, needs.shared_bytes + needs.private_bytes, 0} : Share{};
}

Share OfDescriptors(const Job& job, const JobNeeds&) {
  const Result<std::vector<int32_t>> open = ListNumericEntries(ProcPath(job.pid, "fd"));
  return {open.has_value() ? open.value().size() : 0, kDescriptors, 8};
}

struct Limit {
  std::string_view in_proc;  // its name in /proc/<pid>/limits
  std::string_view name;
  std::string_view option;  // option of prlimit(1)
  std::string_view unit;
  bool is_of_buffer;  // smaller buffers need less
  Share (*share)(const Job&, const JobNeeds&);
};
constexpr Limit kLimits[] = {
    {kFileSizeLimit, "RLIMIT_FSIZE, ulimit -f", "fsize", "bytes in a file", true, &OfFileSize},
    {"Max address space", "RLIMIT_AS, ulimit -v", "as", "bytes of address space", true, &OfAddressSpace},
    {"Max data size", "RLIMIT_DATA, ulimit -d", "data", "bytes of data", true, &OfData},
    {"Max locked memory", "RLIMIT_MEMLOCK, ulimit -l", "memlock", "bytes of locked memory", true, &OfLockedMemory},
    {"Max open files", "RLIMIT_NOFILE, ulimit -n", "nofile", "open files", false, &OfDescriptors},
};

Error Refusal(Pid pid, std::string message, std::string remedy) {
  return Because(Reason::kTracerNotLoaded, std::move(message), std::move(remedy), ThingOf(pid));
}

Result<void> Check(const Limit& limit, const Job& job, const JobNeeds& needs) {
  const uint64_t most = ParseSoftLimit(job.limits, limit.in_proc).value_or(UINT64_MAX);
  const Share share = most == UINT64_MAX ? Share{} : limit.share(job, needs);
  if (share.needed == 0 || share.used + share.needed + share.kept <= most) {
    return {};
  }
  const std::string kept = share.kept > 0 ? fmt::format(", and {} are kept for the process itself", share.kept) : "";
  return Refusal(job.pid,
                 fmt::format("process {} may have {} {} ({}) and has {}: the code to load needs {} more{}",
                             job.pid.value, most, limit.unit, limit.name, share.used, share.needed, kept),
                 fmt::format("raise its limit (prlimit --pid {} --{}=unlimited), {}or sample it without --gpu",
                             job.pid.value, limit.option, limit.is_of_buffer ? "use a smaller --buffer, " : ""));
}

// The shared memory is charged to our control group, as we touch it first.
Result<void> CheckMemoryGroup(Pid pid, const JobNeeds& needs) {
  constexpr uint64_t kKept = 16 * kMebibyte;
  const std::optional<GroupMemory> memory = GroupMemoryOf(pid);
  const uint64_t needed = needs.private_bytes + (SharesMemoryGroup(pid) ? needs.shared_bytes : 0);
  if (!memory.has_value() || memory->room >= needed + kKept) {
    return {};
  }
  return Refusal(pid,
                 fmt::format("the control group of process {} ({}) has {} MiB of its {} MiB of memory left: the code "
                             "to load needs {} MiB, and {} MiB are kept for the job",
                             pid.value, memory->folder, memory->room / kMebibyte, memory->limit / kMebibyte,
                             needed / kMebibyte, kKept / kMebibyte),
                 "raise that limit, use a smaller --buffer, or sample it without --gpu");
}

// The number of filters of the first process of the job's PID namespace. Everything in a container runs under these
// filters. The first process itself has the filters of its container.
std::optional<uint64_t> FiltersOfItsPlace(const ProcessStatus& job) {
  ProcessStatus one = job;
  for (int i = 0; i < kMostParents; ++i) {
    if (one.ns_pids.size() != job.ns_pids.size()) {
      return std::nullopt;  // the process that started it is outside
    }
    if (!one.ns_pids.empty() && one.ns_pids.back() == 1) {
      return one.seccomp_filters;
    }
    Result<ProcessStatus> parent = ReadProcessStatus(one.ppid);
    if (parent.has_error()) {
      return std::nullopt;
    }
    one = std::move(parent).value();
  }
  return std::nullopt;
}

// Only rights over the whole machine allow reading what a filter does. Filters of containers refuse calls; a filter
// that the job or its service manager added may kill.
Result<void> CheckFilters(const ProcessStatus& status, Pid pid) {
  const uint64_t own = status.seccomp_filters.value_or(0);
  if (own == 0 || own <= FiltersOfItsPlace(status).value_or(own)) {
    return {};
  }
  return Refusal(pid,
                 fmt::format("process {} has its own system call filter (seccomp), which may kill it for the calls of "
                             "the code to load (memfd_create, mmap and others)",
                             pid.value),
                 "sample it without --gpu, or use --force if its filter only refuses calls");
}

}  // namespace

Result<void> CheckJobLimits(Pid pid, const JobNeeds& needs, bool force) {
  Result<ProcessStatus> status = ReadProcessStatus(pid);
  Result<std::string> limits = ReadProcFile(ProcPath(pid, "limits"));
  if (status.has_error() || limits.has_error()) {
    return {};  // the target has ended, which other code reports
  }
  const Job job{pid, std::move(status).value(), std::move(limits).value()};
  for (const Limit& limit : kLimits) {
    PP_RETURN_IF_ERROR(Check(limit, job, needs));
  }
  PP_RETURN_IF_ERROR(CheckMemoryGroup(pid, needs));
  return force ? Result<void>() : CheckFilters(job.status, pid);
}

}  // namespace ptrace_prof
