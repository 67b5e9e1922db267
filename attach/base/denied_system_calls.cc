#include "attach/base/denied_system_calls.h"

#include <sys/syscall.h>

namespace ptrace_prof {
namespace {

constexpr uint32_t kDenied[] = {
    // namespaces and file systems
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    442,  // mount_setattr, which older headers lack
    // code in the kernel, and the kernel's logs and events
    SYS_bpf,
    SYS_perf_event_open,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_syslog,
    SYS_fanotify_init,
    SYS_lookup_dcookie,
    // queues and page faults that another thread serves
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_userfaultfd,
    SYS_vmsplice,
    // keys
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // the machine itself
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_acct,
    SYS_quotactl,
    SYS_vhangup,
    SYS_nfsservctl,
    // files and memory of other processes, and old calls
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_process_madvise,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_remap_file_pages,
    SYS_personality,
    SYS_mknodat,
#if defined(__x86_64__)
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_kexec_file_load,
    SYS_create_module,
    SYS_uselib,
    SYS__sysctl,
#endif
};

}  // namespace

std::span<const uint32_t> DeniedSystemCalls() { return kDenied; }

}  // namespace ptrace_prof
