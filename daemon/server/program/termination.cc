#include "daemon/server/program/termination.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <iterator>

namespace ptrace_prof {
namespace {

sigset_t Requests() {
  sigset_t requests;
  ::sigemptyset(&requests);
  ::sigaddset(&requests, SIGTERM);
  ::sigaddset(&requests, SIGINT);
  return requests;
}

sigset_t Awaited() {
  sigset_t awaited = Requests();
  ::sigaddset(&awaited, SIGHUP);
  return awaited;
}

}  // namespace

Termination::Termination() {
  const sigset_t awaited = Awaited();
  ::sigprocmask(SIG_BLOCK, &awaited, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a trace beyond RLIMIT_FSIZE ends its capture, not us
  ::signal(SIGHUP, SIG_DFL);   // an ignored signal would not arrive
  signals_.reset(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Termination::Await(Nanos timeout, int other) {
  pollfd pending[] = {{signals_.get(), POLLIN, 0}, {other, POLLIN, 0}};
  ::poll(pending, std::size(pending), static_cast<int>(timeout.value / 1'000'000));
  signalfd_siginfo info{};
  return ::read(signals_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void Termination::LetNextOneKill() {
  const sigset_t requests = Requests();
  ::pthread_sigmask(SIG_UNBLOCK, &requests, nullptr);
}

}  // namespace ptrace_prof
