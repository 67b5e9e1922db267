#include "attach/ptrace/traced_threads.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "attach/proc/procfs.h"
#include "attach/ptrace/held_start.h"
#include "attach/ptrace/tracee.h"

namespace ptrace_prof {
namespace {

struct List {
  std::vector<TracedThread> threads;
  std::atomic<bool> is_changing = false;  // the handler must not use the list
  std::atomic<bool> was_kept_off = false;
};

List& Own() {
  thread_local List list;
  return list;
}

// The data that the handler uses.
std::atomic<List*> letting_go_of = nullptr;
std::atomic<LetGoOf> letting_go = LetGoOf::kNone;
std::atomic<const std::span<const Tid>*> held_meanwhile = nullptr;

// While one exists, the handler does not use the list. The destructor does what the handler skipped.
class Change {
 public:
  Change() : list_(Own()) { list_.is_changing.store(true); }
  ~Change() {
    list_.is_changing.store(false);
    if (list_.was_kept_off.exchange(false) && letting_go_of.load() == &list_) {
      NoteEndsOf(list_.threads, letting_go.load());
    }
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  std::vector<TracedThread>& threads() const { return list_.threads; }

 private:
  List& list_;
};

// Async-signal-safe.
void OnChild(int) {
  const int error = errno;
  if (const std::span<const Tid>* held = held_meanwhile.load()) {
    NoteEndsOf(*held);
    NoteEndsOf(Own().threads, LetGoOf::kNone);  // the waiting thread's own list: nothing is changing it
  } else if (List* list = letting_go_of.load()) {
    if (list->is_changing.load()) {
      list->was_kept_off.store(true);
    } else {
      NoteEndsOf(list->threads, letting_go.load());
    }
  }
  errno = error;
}

bool IsEnd(const siginfo_t& info) {
  return info.si_pid != 0 && (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

int LookAt(int32_t id, siginfo_t* info) {
  info->si_pid = 0;
  return ::waitid(P_PID, static_cast<id_t>(id), info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL);
}

bool LetGoIfStopped(Pid process, Tid tid) {
  siginfo_t info{};
  const bool is_known = LookAt(tid.value, &info) == 0;
  if (!is_known && tid.value != process.value && !IsHeld(process)) {
    return LetGoIfStopped(process, Tid(process.value));  // it may have that id by now (exec)
  }
  const TraceeStatus status = DecodeWait(info);
  return is_known && info.si_pid != 0 && info.si_code == CLD_TRAPPED && status.stopped() &&
         DetachTracee(tid, status.signal);
}

void NoteEndOf(Tid tid) {
  siginfo_t info{};
  if (LookAt(tid.value, &info) == 0 && IsEnd(info)) {
    ::waitid(P_PID, static_cast<id_t>(tid.value), &info, WEXITED | WNOHANG | __WALL);
  }
}

enum class Fate : uint8_t { kStays, kOver, kFollow };

Fate Release(const TracedThread& thread) {
  const TraceeStatus status = LookAtTracee(thread.tid);
  switch (status.state) {
    case TraceeState::kRunning: return Fate::kStays;
    case TraceeState::kInterrupted:
    case TraceeState::kGroupStopped:
    case TraceeState::kSignalStopped:
    case TraceeState::kEventStopped: return DetachTracee(thread.tid, status.signal) ? Fate::kOver : Fate::kStays;
    case TraceeState::kDead: ReapTracee(thread.tid); return Fate::kOver;
    case TraceeState::kNotTraced:
      return thread.tid.value != thread.process.value && IsTracedAsFirst(thread.process) ? Fate::kFollow : Fate::kOver;
  }
  return Fate::kOver;
}

void Put(const TracedThread& thread) {
  const Change change;
  std::erase_if(change.threads(), [&thread](const TracedThread& one) { return one.tid == thread.tid; });
  change.threads().push_back(thread);
}

}  // namespace

sigset_t ChildSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

std::span<TracedThread> TracedThreads() { return Own().threads; }

void AddTracedThread(Pid process, Tid tid) { Put({.process = process, .tid = tid}); }
void AddLateThread(Pid process, Tid tid) { Put({.process = process, .tid = tid, .is_late = true}); }

void RemoveTracedThread(Tid tid) {
  const Change change;
  std::erase_if(change.threads(), [tid](const TracedThread& thread) { return thread.tid == tid; });
}

// A thread that the handler has just released is not traced any more: its new holder would believe that it is stopped.
bool TakeLateThread(Tid tid) {
  const Change change;
  return std::erase_if(change.threads(), [tid](const TracedThread& thread) {
           return thread.is_late && !thread.is_over && thread.tid == tid;
         }) > 0;
}

size_t ReleaseLateThreads() {
  if (Own().threads.empty()) {
    return 0;
  }
  const Change change;
  std::vector<TracedThread>& threads = change.threads();
  for (size_t i = 0; i < threads.size();) {
    const Fate fate = threads[i].is_over ? Fate::kOver : threads[i].is_late ? Release(threads[i]) : Fate::kStays;
    const Tid first(threads[i].process.value);
    const bool is_known =
        std::ranges::any_of(threads, [first](const TracedThread& thread) { return thread.tid == first; });
    if (fate == Fate::kFollow && !is_known) {
      threads[i].tid = first;  // look at it again
    } else if (fate == Fate::kStays) {
      ++i;
    } else {
      threads.erase(threads.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return static_cast<size_t>(std::ranges::count_if(threads, &TracedThread::is_late));
}

bool IsTracedAsFirst(Pid process) {
  const Result<ProcessStatus> status = ReadProcessStatus(process);
  return !IsHeld(process) && status.has_value() && status.value().tracer.value == ::getpid();
}

void NoteEndsOf(std::span<TracedThread> threads, LetGoOf whom) {
  for (TracedThread& thread : threads) {
    if (thread.tid.value != thread.process.value) {
      NoteEndOf(thread.tid);
    }
    if (whom == LetGoOf::kAll || (whom == LetGoOf::kLate && thread.is_late)) {
      thread.is_over = LetGoIfStopped(thread.process, thread.tid) || thread.is_over;
    }
  }
}

void NoteEndsOf(std::span<const Tid> threads) {
  for (const Tid tid : threads) {
    NoteEndOf(tid);
  }
}

void InstallNotingOfEnds() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
      action.sa_handler == SIG_DFL) {
    action.sa_handler = OnChild;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
}

void NoteEndsMeanwhile(const std::span<const Tid>* held) { held_meanwhile.store(held); }

LettingGo::LettingGo(LetGoOf whom) {
  InstallNotingOfEnds();
  letting_go.store(whom);
  letting_go_of.store(&Own());
  const sigset_t child = ChildSignal();
  ::pthread_sigmask(SIG_UNBLOCK, &child, &mask_);
  if (!Own().threads.empty()) {
    NoteEndsOf(Own().threads, whom);  // threads that stopped before
  }
}

LettingGo::~LettingGo() {
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  letting_go_of.store(nullptr);
}

}  // namespace ptrace_prof
