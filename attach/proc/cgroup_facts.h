// What the text of /proc/<pid>/cgroup tells about where a process runs: in which container, in which Slurm job.
//
// A pure function over kernel text; names in it are chosen by runtimes and administrators. Both forms, a line per
// hierarchy (version 1) and one line (version 2). What is not recognised is left empty.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

struct CgroupFacts {
  std::string container_runtime;  // "docker", "containerd", "cri-o", "podman", "kubernetes", "lxc", "machine", …
  std::string container;          // 12 digits of its id, or its name
  std::string slurm_job;
  std::string slurm_step;
};

CgroupFacts ParseCgroup(std::string_view text);

}  // namespace ptrace_prof
