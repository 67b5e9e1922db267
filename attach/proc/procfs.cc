#include "attach/proc/procfs.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/proc/proc_file.h"
#include "attach/proc/proc_stat.h"

namespace ptrace_prof {
namespace {

constexpr size_t kCmdlineLimit = 4 << 20;  // more than the default ARG_MAX

}  // namespace

Result<ProcessStatus> ReadProcessStatus(Pid pid) {
  const std::string path = ProcPath(pid, "status");
  PP_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(path));
  std::optional<ProcessStatus> status = ParseProcessStatus(text);
  if (!status.has_value()) {
    return Error{Code::kInternal, path + " does not look like a process status", ""};
  }
  return std::move(*status);
}

Result<std::vector<std::string>> ReadCmdline(Pid pid) {
  PP_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(ProcPath(pid, "cmdline"), kCmdlineLimit));
  std::vector<std::string> arguments;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\0', start), text.size());
    arguments.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return arguments;
}

Result<std::vector<Tid>> ListThreads(Pid pid) {
  PP_ASSIGN_OR_RETURN(const std::vector<int32_t> numbers, ListNumericEntries(ProcPath(pid, "task")));
  // The directory of a process that is being reaped can still be opened, but is empty.
  if (numbers.empty()) {
    return ProcError(ESRCH, ProcPath(pid, "task"));
  }
  std::vector<Tid> threads;
  threads.reserve(numbers.size());
  for (const int32_t number : numbers) {
    threads.emplace_back(number);
  }
  return threads;
}

Result<std::vector<Pid>> ListChildren(Pid pid) {
  PP_ASSIGN_OR_RETURN(const std::vector<Tid> threads, ListThreads(pid));
  std::vector<Pid> children;
  for (const Tid tid : threads) {
    const Result<std::string> text = ReadProcFile(ProcTaskPath(pid, tid, "children"));
    if (text.has_error()) {
      continue;  // the thread has ended: the kernel gave its children to another thread
    }
    ForEachNumber(text.value(), [&](int64_t number) { children.emplace_back(static_cast<int32_t>(number)); });
  }
  std::sort(children.begin(), children.end());
  children.erase(std::unique(children.begin(), children.end()), children.end());
  return children;
}

Result<ProcStat> ReadProcStat(Pid pid) {
  const std::string path = ProcPath(pid, "stat");
  PP_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(path));
  const std::optional<ProcStat> stat = ParseProcStat(text);
  if (!stat.has_value()) {
    return Error{Code::kInternal, path + " does not look like a process stat line", ""};
  }
  return *stat;
}

Nanos OfTicks(uint64_t ticks) {
  static const int64_t ticks_per_second = ::sysconf(_SC_CLK_TCK);
  return Nanos(static_cast<int64_t>(ticks) * (1'000'000'000 / ticks_per_second));
}

Result<uint64_t> ReadStartTicks(Pid pid) {
  PP_ASSIGN_OR_RETURN(const ProcStat stat, ReadProcStat(pid));
  return stat.start_ticks;
}

Result<Nanos> ReadStartTime(Pid pid) {
  PP_ASSIGN_OR_RETURN(const uint64_t ticks, ReadStartTicks(pid));
  return OfTicks(ticks);
}

Result<std::string> ReadThreadName(Pid pid, Tid tid) {
  PP_ASSIGN_OR_RETURN(std::string name, ReadProcFile(ProcTaskPath(pid, tid, "comm")));
  if (name.ends_with('\n')) {
    name.pop_back();
  }
  return name;
}

Result<std::string> ReadEnviron(Pid pid) {
  constexpr size_t kLimit = 256 << 10;
  return ReadProcFile(ProcPath(pid, "environ"), kLimit);
}

Result<Tid> ReadNamespacedTid(Pid pid, Tid tid) {
  const std::string path = ProcTaskPath(pid, tid, "status");
  PP_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(path));
  const std::optional<ProcessStatus> status = ParseProcessStatus(text);
  if (!status.has_value() || status->ns_pids.empty()) {
    return tid;  // kernel without PID namespaces: there is only one number
  }
  return Tid(status->ns_pids.back());
}

Result<ExecutableId> ReadExecutableId(Pid pid) {
  const std::string path = ProcPath(pid, "exe");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return ProcError(errno, path);
  }
  return ExecutableId{info.st_dev, info.st_ino};
}

Result<UniqueFd> OpenPidfd(Pid pid) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid.value, 0)));
  if (!fd.is_open()) {
    return ErrnoError(errno, "cannot hold process " + std::to_string(pid.value) + " by a pidfd");
  }
  return fd;
}

bool HasExited(const UniqueFd& pidfd) {
  pollfd request{pidfd.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&request, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace ptrace_prof
