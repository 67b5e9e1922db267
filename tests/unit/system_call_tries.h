// Calls that a filter refuses, each made in a child under that filter.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <vector>

#include "tests/unit/in_child.h"

namespace ptrace_prof {

inline constexpr int kNoFilter = 254;
inline constexpr int kWorked = 0;

// The errno of `call` (which returns -1 and sets it, as system calls do) under the filter; 0 if it worked.
inline int TryBehind(const std::function<bool()>& filter, const std::function<long()>& call) {
  return InChild([&] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!filter()) {
      return kNoFilter;
    }
    return call() < 0 ? errno : kWorked;
  });
}

struct Try {
  const char* name;
  std::function<long()> call;
};

// The arguments do no harm if the call is not refused, and then give another error than EPERM.
inline std::vector<Try> DeniedTries() {
  const auto with_bad_arguments = [](const char* name, long number) {
    return Try{name, [number] { return ::syscall(number, -1, -1, -1, -1, -1, -1); }};
  };
  return {with_bad_arguments("bpf", SYS_bpf),
          with_bad_arguments("perf_event_open", SYS_perf_event_open),
          with_bad_arguments("io_uring_setup", SYS_io_uring_setup),
          with_bad_arguments("userfaultfd", SYS_userfaultfd),
          with_bad_arguments("unshare", SYS_unshare),
          with_bad_arguments("setns", SYS_setns),
          with_bad_arguments("mount", SYS_mount),
          with_bad_arguments("keyctl", SYS_keyctl),
          with_bad_arguments("add_key", SYS_add_key),
          with_bad_arguments("open_by_handle_at", SYS_open_by_handle_at),
          with_bad_arguments("kexec_load", SYS_kexec_load),
          with_bad_arguments("finit_module", SYS_finit_module),
          with_bad_arguments("personality", SYS_personality)};
}

}  // namespace ptrace_prof
