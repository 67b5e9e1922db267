// Parses /proc/<pid>/cgroup: in which container and in which Slurm job a process runs.
//
// A pure function over kernel text; runtimes and administrators choose the names in it. Handles both forms: one line
// per hierarchy (version 1) and one line (version 2). Unknown parts are left empty.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

struct CgroupFacts {
  std::string container_runtime;  // "docker", "containerd", "cri-o", "podman", "kubernetes", "lxc", "machine", …
  std::string container;          // the first 12 digits of its id, or its name
  std::string slurm_job;
  std::string slurm_step;
};

CgroupFacts ParseCgroup(std::string_view text);

}  // namespace ptrace_prof
