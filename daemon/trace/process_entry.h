// One process of a listing (`ptrace-prof ps`): what it is, where it belongs, and whether it can be profiled.
//
// Plain data. All text except `cause` and `remedy` comes from the target and must be cleaned for a terminal. User names
// are not included: the program that shows the entry looks them up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/reason.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class ProcessKind : uint8_t {
  kPython,       // runs Python, or has such a name and cannot be examined
  kLibraryOnly,  // has a Python library mapped, but no interpreter runs in it and its name is not Python's
  kEnded,        // a zombie with a name of Python
};

struct ProcessEntry {
  Pid pid;
  Pid ns_pid;  // in its own PID namespace
  Pid parent_pid;
  Uid uid;  // the real user ID
  ProcessKind kind = ProcessKind::kPython;
  std::string name;                  // comm
  std::vector<std::string> cmdline;  // bounded: see process_scan.h
  Nanos start_time;                  // since boot

  std::string python;             // "3.11.7", "3.14.2 (debug build)"; empty: not known
  std::string container_runtime;  // "docker", "kubernetes", "podman", …; empty: no known container
  std::string container;          // short id or name of the container
  std::string slurm_job;
  std::string slurm_step;  // "0", "batch", …
  std::optional<int32_t> rank;
  std::optional<int32_t> world_size;
  std::optional<int32_t> local_rank;
  std::vector<std::string> gpu_libraries;  // "libcuda", "libnccl", …

  bool profilable = false;  // by the user who asked for the list
  std::string cause;        // why not; if `profilable`: what limits it
  std::string remedy;
  Reason reason = Reason::kUnspecified;  // the cause in one word
};

}  // namespace ptrace_prof
