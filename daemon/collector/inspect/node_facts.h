// What is known about this machine and about our own rights on it, as far as profiling depends on it.
//
// Gathered from /proc, /sys and by asking the kernel in ways that touch nobody; before rights are given up and before
// the collector's own system call filter, which would be mistaken for somebody else's. Values only: node_checks.h
// judges them, and a test can state them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct NodeFacts {
  std::string kernel;    // "6.1.0-13-amd64"
  int read_errno = 0;    // process_vm_readv of ourselves: 0 works
  int ptrace_errno = 0;  // ptrace(PTRACE_SEIZE) of nobody: 0 the call is there
  std::optional<int> yama_scope;
  uint64_t cap_effective = 0;
  Uid uid;
  std::string user;
  int seccomp_mode = 0;
  std::optional<bool> initial_user_ns;
  std::optional<bool> initial_pid_ns;
  bool in_container = false;
  std::string security_modules;         // "capability,landlock,yama,apparmor"; empty: not known
  std::string security_label;           // of ourselves: "docker-default (enforce)"; empty: none
  std::optional<bool> selinux_forbids;  // the boolean deny_ptrace
  std::string hidepid;                  // how /proc is mounted: "", "noaccess", "invisible", "ptraceable"
  std::optional<std::string> nvidia;    // version of the kernel driver; nothing: not loaded
};

NodeFacts GatherNodeFacts();

// The option hidepid of the mount at /proc in the text of /proc/self/mountinfo, by name; empty where it hides nothing.
std::string ParseHidepid(std::string_view mountinfo);

}  // namespace ptrace_prof
