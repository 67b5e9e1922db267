// Runs a question in a forked child, for what cannot be undone in the test's own process (rights, filters).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace ptrace_prof {

// What `question` returns (0 to 255), or -1 when the child did not exit by itself.
inline int InChild(const std::function<int()>& question) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(question());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ptrace_prof
