// A forked child process that reports that it is ready and lives until the test is done with it.
//
// Owned by one test; the destructor kills and reaps it, and the kernel kills it when the test dies first. The body runs
// in the child after fork, so it must not use GoogleTest's assertions.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class Child {
 public:
  // body(say): call say(value) at any time; the parent reads the values in order with Hear().
  template <typename Body>
  explicit Child(Body body) {
    int from_child[2];
    int to_child[2];
    if (::pipe(from_child) != 0 || ::pipe(to_child) != 0) {
      ::abort();
    }
    pid_ = Pid(::fork());
    if (pid_.value == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(from_child[0]);
      ::close(to_child[1]);
      gate() = to_child[0];
      body([fd = from_child[1]](uint64_t value) {
        if (::write(fd, &value, sizeof value) != sizeof value) {
          ::_exit(99);
        }
      });
      ::_exit(0);
    }
    ::close(from_child[1]);
    ::close(to_child[0]);
    said_.reset(from_child[0]);
    gate_.reset(to_child[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_.value > 0) {
      ::kill(pid_.value, SIGKILL);
      Reap();
    }
  }

  Pid pid() const { return pid_; }
  // The next value that the child reported; 0 if it ended without one.
  uint64_t Hear() const {
    uint64_t value = 0;
    return ::read(said_.get(), &value, sizeof value) == sizeof value ? value : 0;
  }
  // Lets one WaitForParent() of the child return.
  void Release() const { (void)!::write(gate_.get(), "x", 1); }
  // The child's exit status as of wait(2).
  int Reap() {
    int status = 0;
    while (::waitpid(pid_.value, &status, __WALL) == -1 && errno == EINTR) {
    }
    pid_ = Pid(0);
    return status;
  }
  int KillAndReap(int signal = SIGKILL) {
    ::kill(pid_.value, signal);
    return Reap();
  }

  // In the child: blocks in read(2) until the parent calls Release().
  static void WaitForParent() {
    char byte;
    (void)!::read(gate(), &byte, 1);
  }

 private:
  static int& gate() {
    static int fd = -1;
    return fd;
  }
  Pid pid_;
  UniqueFd said_;
  UniqueFd gate_;
};

}  // namespace ptrace_prof
