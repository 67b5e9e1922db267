#include "daemon/collector/sample/python_descendants.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"
#include "symbolizer/cpython/python_process.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostDescendants = 256;
constexpr size_t kMostNamed = 4;

bool IsPython(Pid pid) {
  ProcessMemory memory(pid);
  return PythonProcess::Open(pid, memory).has_value();
}

}  // namespace

std::string PythonDescendants::Names() const {
  std::string names;
  const size_t named = std::min(pythons.size(), kMostNamed);
  for (size_t i = 0; i < named; ++i) {
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", pythons[i].pid.value, pythons[i].name);
  }
  return pythons.size() > named ? fmt::format("{} and {} more", names, pythons.size() - named) : names;
}

PythonDescendants FindPythonDescendants(Pid root) {
  PythonDescendants found;
  std::vector<Pid> generation = {root};
  while (!generation.empty() && found.descendants < kMostDescendants) {
    std::vector<Pid> next;
    for (const Pid parent : generation) {
      const auto children = ListChildren(parent);
      if (children.has_value()) {
        next.insert(next.end(), children.value().begin(), children.value().end());
      }
    }
    next.resize(std::min(next.size(), kMostDescendants - found.descendants));
    found.descendants += next.size();
    for (const Pid pid : next) {
      const auto status = ReadProcessStatus(pid);
      if (status.has_value() && IsPython(pid)) {
        found.pythons.push_back({pid, status.value().name});
      }
    }
    generation = std::move(next);
  }
  return found;
}

std::string AdviceForLauncher(Pid root) {
  const PythonDescendants found = FindPythonDescendants(root);
  if (found.pythons.empty()) {
    return "";
  }
  if (found.pythons.size() == 1) {
    return fmt::format("its descendant {} is a Python process: use --pid {}, or --subprocesses", found.Names(),
                       found.pythons.front().pid.value);
  }
  return fmt::format("{} of its descendants are Python processes: {}; --subprocesses records all of them, --pid one",
                     found.pythons.size(), found.Names());
}

}  // namespace ptrace_prof
