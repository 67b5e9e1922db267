#include "attach/ptrace/held_start.h"

#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

#include "attach/proc/proc_file.h"
#include "attach/ptrace/traced_threads.h"
#include "attach/ptrace/tracee.h"

namespace ptrace_prof {
namespace {

constexpr int kSystemCallSignal = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
// A program that starts for longer is probably not a Python program, or its tracing was abandoned.
constexpr Nanos kLongestHold = Nanos::FromSeconds(10);
constexpr Nanos kPatience = Nanos::FromMillis(200);
constexpr int64_t kShortNap = 50'000;
constexpr int kYields = 50;

struct Held {
  Pid pid;
  bool is_stopped = false;
  int stop = 0;  // status as returned by waitid
  Nanos until;
};

thread_local Held held_child;

intptr_t SignalOf(int stop) {
  const bool is_signal = stop >> kEventShift == 0 && stop != kSystemCallSignal;
  return is_signal ? stop : 0;
}

bool IsGroupStop(int stop) { return stop >> kEventShift == PTRACE_EVENT_STOP && (stop & 0x7f) != SIGTRAP; }

// Whether it is stopped now. Never consumes the end of the program, which its parent waits for.
bool Look() {
  siginfo_t info{};
  const int how = WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL;
  const bool is_there = ::waitid(P_PID, static_cast<id_t>(held_child.pid.value), &info, how) == 0;
  if (is_there && info.si_pid != 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)) {
    held_child.is_stopped = true;
    held_child.stop = info.si_status;
  } else if (!is_there || info.si_pid != 0) {
    held_child = {};  // it has ended
  }
  return held_child.is_stopped;
}

void Await(Nanos deadline) {
  for (int look = 0; held_child.pid.value != 0 && !Look() && MonotonicNow() < deadline; ++look) {
    if (look < kYields) {
      ::sched_yield();
    } else {
      const timespec nap{0, kShortNap};
      ::nanosleep(&nap, nullptr);
    }
  }
}

bool GivesRights(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return false;
  }
  return (info.st_mode & (S_ISUID | S_ISGID)) != 0 || ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string PathAt(uint64_t address) {
  std::string path(PATH_MAX, '\0');
  size_t size = 0;
  while (size < path.size()) {  // page by page: the next page may be unmapped
    const size_t part = std::min<size_t>(path.size() - size, 4096 - (address + size) % 4096);
    const iovec to{path.data() + size, part};
    const iovec from{reinterpret_cast<void*>(address + size), part};
    if (::process_vm_readv(held_child.pid.value, &to, 1, &from, 1, 0) != static_cast<ssize_t>(part)) {
      break;
    }
    const size_t end = path.find('\0', size);
    size += part;
    if (end < size) {
      return path.substr(0, end);
    }
  }
  return {};
}

// Whether this is an exec of a program to which the kernel gives rights. It does not give them while the process is
// traced.
bool IsAboutToGetRights() {
  __ptrace_syscall_info info{};
  if (held_child.stop != kSystemCallSignal ||
      ::ptrace(PTRACE_GET_SYSCALL_INFO, held_child.pid.value, sizeof info, &info) <= 0 ||
      info.op != PTRACE_SYSCALL_INFO_ENTRY || (info.entry.nr != SYS_execve && info.entry.nr != SYS_execveat)) {
    return false;
  }
  const std::string path = PathAt(info.entry.args[info.entry.nr == SYS_execve ? 0 : 1]);
  if (path.empty() || info.entry.nr == SYS_execveat) {
    return true;  // unknown
  }
  return GivesRights(ProcPath(held_child.pid, path.front() == '/' ? "root" + path : "cwd/" + path));
}

}  // namespace

bool HoldStart(Pid child) {
  LetStartGo();
  if (::ptrace(PTRACE_SEIZE, child.value, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) != 0) {
    return false;
  }
  ::ptrace(PTRACE_INTERRUPT, child.value, nullptr, nullptr);
  held_child = {.pid = child, .is_stopped = false, .stop = 0, .until = MonotonicNow() + kLongestHold};
  Await(MonotonicNow() + kPatience);
  return held_child.pid == child;
}

bool IsHeld(Pid pid) { return held_child.pid.value != 0 && held_child.pid == pid; }

void PauseOrStep(Nanos nap) {
  if (held_child.pid.value == 0) {
    const timespec time{nap.value / 1'000'000'000, nap.value % 1'000'000'000};
    ::nanosleep(&time, nullptr);
    return;
  }
  if (Look()) {
    if (IsGroupStop(held_child.stop) || MonotonicNow() > held_child.until || IsAboutToGetRights()) {
      LetStartGo();
      return;
    }
    held_child.is_stopped = false;
    if (::ptrace(PTRACE_SYSCALL, held_child.pid.value, nullptr, SignalOf(held_child.stop)) != 0 && errno != ESRCH) {
      LetStartGo();
      return;
    }
  }
  Await(MonotonicNow() + nap);
}

bool StopHeldStart(Nanos deadline) {
  if (held_child.pid.value != 0 && !Look()) {
    ::ptrace(PTRACE_INTERRUPT, held_child.pid.value, nullptr, nullptr);
    Await(deadline);
  }
  return held_child.pid.value != 0 && held_child.is_stopped;
}

void LetStartGo() {
  const Pid pid = held_child.pid;
  if (pid.value == 0) {
    return;
  }
  if (StopHeldStart(MonotonicNow() + kPatience)) {
    DetachTracee(Tid(pid.value), static_cast<int>(SignalOf(held_child.stop)));
  } else if (held_child.pid.value != 0) {
    AddLateThread(pid, Tid(pid.value));
  }
  held_child = {};
}

}  // namespace ptrace_prof
