// What is known about two processes when the kernel refused the one to read or trace the other.
//
// Gathered after a refusal, from /proc and by asking the kernel again in ways that touch nothing. Values only:
// access_diagnosis.h makes a sentence of them, and a test can state them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {

inline constexpr uint64_t kCapSysPtrace = uint64_t{1} << 19;  // CAP_SYS_PTRACE of linux/capability.h

struct AccessFacts {
  Pid pid;
  int refused_errno = 0;
  ProcessStatus target;
  ProcessStatus self;

  // errno of each attempt, 0 = allowed. The two modes of ptrace(2), "Ptrace access mode checking": identity and
  // dumpable decide about reading, and Yama and other security modules only about attaching.
  int read_mode_errno = 0;    // readlink of exe: PTRACE_MODE_READ
  int attach_mode_errno = 0;  // open of mem: PTRACE_MODE_ATTACH

  std::optional<int> yama_scope;     // nothing: no Yama in this kernel
  std::optional<bool> same_user_ns;  // nothing: the kernel does not tell
  bool dumpable = true;              // false: its files in /proc belong to root although it does not
  bool self_in_container = false;
  std::string tracer_name;  // of target.tracer, "" unknown
  std::string target_user;  // name of the target's user, or its number
  std::string self_user;
};

// kGone when the process ended.
Result<AccessFacts> GatherAccessFacts(Pid pid, int refused_errno);

}  // namespace ptrace_prof
