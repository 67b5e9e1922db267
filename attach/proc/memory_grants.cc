#include "attach/proc/memory_grants.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromSeconds(2);

UniqueFd g_line;  // NOLINT(cert-err58-cpp): its constructor does nothing that can fail

// Receives one answer, perhaps to an older question. False: none came in time.
bool ReceiveAnswer(Nanos deadline, MemoryAnswer& answer, UniqueFd& descriptor) {
  pollfd ready{g_line.get(), POLLIN, 0};
  const Nanos left = deadline - MonotonicNow();
  if (left.value <= 0) {
    return false;
  }
  if (const int found = ::poll(&ready, 1, static_cast<int>(left.value / 1'000'000) + 1); found <= 0) {
    return found < 0 && errno == EINTR;
  }
  iovec bytes{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(g_line.get(), &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* rights = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  descriptor.reset();
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    descriptor.reset(fd);
  }
  if (got != sizeof answer) {
    answer = {};
  }
  return got > 0;
}

// Returns 0, or an errno.
int Ask(Pid pid, Tid tid, UniqueFd& memory) {
  const Nanos now = MonotonicNow();
  // Forked children share the line. A time is a number that none of them has used, so answers to a killed one are
  // skipped.
  const MemoryQuestion question{static_cast<uint64_t>(now.value), pid.value, tid.value};
  if (!g_line.is_open() || ::write(g_line.get(), &question, sizeof question) != sizeof question) {
    return EPERM;
  }
  MemoryAnswer answer;
  while (ReceiveAnswer(now + kPatience, answer, memory)) {
    if (answer.number == question.number) {
      return answer.refused;
    }
  }
  memory.reset();
  return EPERM;
}

int AskKernel(Pid pid) {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{nullptr, 1};
  return ::process_vm_readv(pid.value, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT ? 0 : errno;
}

}  // namespace

void UseMemoryGrants(UniqueFd line) { g_line = std::move(line); }

bool HasMemoryGrants() { return g_line.is_open(); }

int AskForMemory(Pid pid, UniqueFd& memory) {
  const int refused = Ask(pid, Tid(), memory);
  return refused != 0 || memory.is_open() ? refused : EPERM;
}

int AskToStop(Pid pid, Tid tid) {
  UniqueFd none;
  return Ask(pid, tid, none);
}

void LetGoOfStopped() {
  UniqueFd none;
  (void)Ask(Pid(), Tid(), none);
}

int ProbeMemory(Pid pid) {
  const int refused = AskKernel(pid);
  UniqueFd granted;
  return refused == EPERM && HasMemoryGrants() ? AskForMemory(pid, granted) : refused;
}

bool IsReadByGrant(Pid pid) {
  UniqueFd granted;
  return HasMemoryGrants() && AskKernel(pid) == EPERM && AskForMemory(pid, granted) == 0;
}

Error OnlyGrantedToRead(Pid pid) {
  return Because(
      Reason::kYamaDenied,
      ThingOf(pid) +
          " can only be sampled, not traced or stopped as a whole: kernel.yama.ptrace_scope is 1, and the policy of "
          "ptrace-profd allows only sampling despite it",
      "sample it without --blocking (--mode sample), or start the program with `ptrace-prof record -- COMMAND`",
      ThingOf(pid));
}

}  // namespace ptrace_prof
