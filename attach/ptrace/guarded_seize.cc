#include "attach/ptrace/guarded_seize.h"

#include <sys/ptrace.h>

#include <algorithm>
#include <cerrno>

#include "attach/ptrace/traced_threads.h"

namespace ptrace_prof {
namespace {

int RawSeize(Tid tid) { return ::ptrace(PTRACE_SEIZE, tid.value, nullptr, nullptr) == 0 ? 0 : errno; }

}  // namespace

GuardedSeize::GuardedSeize() {
  InstallNotingOfEnds();
  const sigset_t child = ChildSignal();
  ::pthread_sigmask(SIG_BLOCK, &child, &mask_);
}

GuardedSeize::~GuardedSeize() { ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr); }

int GuardedSeize::Seize(Tid tid, std::span<const Tid> held) {
  if (held.empty() && TracedThreads().empty()) {
    return RawSeize(tid);
  }
  const sigset_t child = ChildSignal();
  NoteEndsMeanwhile(&held);
  ::pthread_sigmask(SIG_UNBLOCK, &child, nullptr);
  // The signal for the last one's end may have been handled before it was among them. Signals for the others are
  // pending or were handled.
  NoteEndsOf(held.last(std::min<size_t>(held.size(), 1)));
  NoteEndsOf(TracedThreads(), LetGoOf::kNone);
  const int error = RawSeize(tid);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  NoteEndsMeanwhile(nullptr);
  return error;
}

int GuardedSeize::SeizeOne(Tid tid) { return TracedThreads().empty() ? RawSeize(tid) : GuardedSeize().Seize(tid, {}); }

}  // namespace ptrace_prof
