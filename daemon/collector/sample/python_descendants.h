// Finds the Python processes among the descendants of a shell, a launcher or a master process.
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
  size_t descendants = 0;    // number examined, at most 256

  // "28995 (python3), 28996 (python3) and 7 more"
  std::string Names() const;
};

PythonDescendants FindPythonDescendants(Pid root);

// A remedy for the user if `root` is not Python. Empty if there is none.
std::string AdviceForLauncher(Pid root);

}  // namespace ptrace_prof
