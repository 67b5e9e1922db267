#include "daemon/server/program/system_call_wall.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "attach/base/denied_system_calls.h"
#include "attach/base/system_call_rules.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kRefused[] = {
    // access to other processes
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    // start of other programs
    SYS_execve,
    SYS_execveat,
    // change of user
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
    // changes to files beyond its own
    SYS_fchown,
    SYS_fchownat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    // objects that outlive the process
    SYS_shmget,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
#if defined(__x86_64__)
    SYS_chown,
    SYS_lchown,
    SYS_link,
    SYS_symlink,
#endif
};

constexpr uint32_t kFamilies[] = {AF_UNIX, AF_INET, AF_INET6};

}  // namespace

bool RaiseSystemCallWall() {
  SystemCallRules rules;
  rules.Refuse(DeniedSystemCalls(), EPERM);
  rules.Refuse(kRefused, EPERM);
  rules.AllowIfOneOf(SYS_socket, 0, kFamilies);
  return rules.Install(SystemCallRules::Rest::kAllowed);
}

}  // namespace ptrace_prof
