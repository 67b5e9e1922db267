// Facts about two processes after the kernel refused one the right to read or trace the other.
//
// Gathered after a refusal, from /proc and by asking the kernel again in ways that change nothing. Values only:
// access_diagnosis.h makes an error message of them, and tests can construct them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attach/base/types.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {

inline constexpr uint64_t kCapSysPtrace = uint64_t{1} << 19;  // CAP_SYS_PTRACE of linux/capability.h

// The identity of the asking process before it restricted itself for safety. It may have become the owner of the target
// and have installed a system call filter; neither is the cause of a refusal or part of a remedy.
struct Asker {
  bool is_root = false;
  int seccomp_mode = 0;
};
// This process as it is now.
Asker CurrentAsker();

struct AccessFacts {
  Pid pid;
  int refused_errno = 0;
  ProcessStatus target;
  ProcessStatus self;  // as at the time of the refused call
  Asker asker;

  // errno of each attempt, 0 = allowed. The two modes of ptrace(2), "Ptrace access mode checking": identity and
  // dumpable decide about reading; Yama and other security modules decide only about attaching.
  int read_mode_errno = 0;    // readlink of exe: PTRACE_MODE_READ
  int attach_mode_errno = 0;  // open of mem: PTRACE_MODE_ATTACH

  std::optional<int> yama_scope;     // nullopt: no Yama in this kernel
  std::optional<bool> same_user_ns;  // nullopt: the kernel does not say
  bool dumpable = true;              // false: its files in /proc belong to root although it does not
  bool self_in_container = false;
  std::string tracer_name;  // of target.tracer, "" if unknown
  std::string target_user;  // name of the target's user, or its number
  std::string self_user;
};

// kGone: the process has ended.
Result<AccessFacts> GatherAccessFacts(Pid pid, int refused_errno, const Asker& asker);

}  // namespace ptrace_prof
