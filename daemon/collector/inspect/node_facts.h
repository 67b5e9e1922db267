// Facts about this machine and our rights on it, as far as profiling depends on them.
//
// Gathered from /proc, /sys and by harmless system calls. Gather them before rights are given up, and before the
// collector's own system call filter is installed, which would look like a foreign one. Values only: node_checks.h
// judges them, and a test can set them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct NodeFacts {
  std::string kernel;    // "6.1.0-13-amd64"
  int read_errno = 0;    // errno of process_vm_readv of ourselves; 0: it works
  int ptrace_errno = 0;  // errno of ptrace(PTRACE_SEIZE) of no process; 0: the call is available
  std::optional<int> yama_scope;
  uint64_t cap_effective = 0;
  Uid uid;
  std::string user;
  int seccomp_mode = 0;
  std::optional<bool> initial_user_ns;
  std::optional<bool> initial_pid_ns;
  bool in_container = false;
  std::string security_modules;         // "capability,landlock,yama,apparmor"; empty: not known
  std::string security_label;           // our own: "docker-default (enforce)"; empty: none
  std::optional<bool> selinux_forbids;  // the SELinux boolean deny_ptrace
  std::string hidepid;                  // option of the /proc mount: "", "noaccess", "invisible", "ptraceable"
  std::optional<std::string> nvidia;    // version of the kernel driver; nullopt: not loaded
};

NodeFacts GatherNodeFacts();

// The name of the option hidepid of the mount at /proc, from the text of /proc/self/mountinfo; empty if it hides
// nothing.
std::string ParseHidepid(std::string_view mountinfo);

}  // namespace ptrace_prof
