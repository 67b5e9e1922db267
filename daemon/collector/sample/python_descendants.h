// Which descendants of a process are Python: of a shell, launcher or master that is taken for what it started.
#pragma once

#include <string>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct PythonDescendants {
  struct One {
    Pid pid;
    std::string name;
  };
  std::vector<One> pythons;  // the oldest generation first
  size_t descendants = 0;    // that were looked at, at most 256

  // "28995 (python3), 28996 (python3) and 7 more"
  std::string Names() const;
};

PythonDescendants FindPythonDescendants(Pid root);

// What to do about `root`, which is not Python; as a remedy. Empty where there is none.
std::string AdviceForLauncher(Pid root);

}  // namespace ptrace_prof
