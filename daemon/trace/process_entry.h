// One process of a listing (`ptrace-prof ps`): what it is, where it belongs, and whether it can be profiled.
//
// Pure data. All text but `cause` and `remedy` is the target's choice and not fit for a terminal. Names of users are
// not in it: whoever shows it looks them up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/reason.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class ProcessKind : uint8_t {
  kPython,       // runs a Python, or is named so and cannot be looked into
  kLibraryOnly,  // has a Python library mapped, but no interpreter runs in it and it is not named after Python
  kEnded,        // a zombie that was named after Python
};

struct ProcessEntry {
  Pid pid;
  Pid ns_pid;  // as it sees itself
  Pid parent_pid;
  Uid uid;  // real
  ProcessKind kind = ProcessKind::kPython;
  std::string name;                  // comm
  std::vector<std::string> cmdline;  // bounded: see process_scan.h
  Nanos start_time;                  // since boot

  std::string python;             // "3.11.7", "3.14.2 (debug build)"; empty: not known
  std::string container_runtime;  // "docker", "kubernetes", "podman", …; empty: in none that we know
  std::string container;          // its short id or name
  std::string slurm_job;
  std::string slurm_step;  // "0", "batch", …
  std::optional<int32_t> rank;
  std::optional<int32_t> world_size;
  std::optional<int32_t> local_rank;
  std::vector<std::string> gpu_libraries;  // "libcuda", "libnccl", …

  bool profilable = false;  // by whoever asked for the list
  std::string cause;        // why not; with `profilable`: what limits it
  std::string remedy;
  Reason reason = Reason::kUnspecified;  // the cause in one word
};

}  // namespace ptrace_prof
