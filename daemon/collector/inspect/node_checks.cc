#include "daemon/collector/inspect/node_checks.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "attach/proc/access_facts.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kContainerRemedy =
    "in a container: docker run --cap-add=SYS_PTRACE …, or securityContext.capabilities.add: [SYS_PTRACE]";

struct Judgement {
  Verdict verdict = Verdict::kOk;
  std::string cause;
  std::string remedy;
  Reason reason = Reason::kUnspecified;  // unspecified: the row's reason
};

constexpr uint64_t kBecomeAnybody = (uint64_t{1} << 6) | (uint64_t{1} << 7);  // CAP_SETGID, CAP_SETUID

bool HasCapability(const NodeFacts& f) { return (f.cap_effective & kCapSysPtrace) != 0; }

std::string Words(int err) { return std::generic_category().message(err); }

Reason WhoForbids(const NodeFacts& f) {
  return f.seccomp_mode != 0 ? Reason::kSeccompDenied : Reason::kPermissionDenied;
}

Judgement MemoryReading(const NodeFacts& f) {
  switch (f.read_errno) {
    case 0: return {Verdict::kOk, "process_vm_readv works: the memory of targets can be read", ""};
    case ENOSYS:
      return {Verdict::kMissing,
              fmt::format("this kernel ({}) has no process_vm_readv: it was built without CONFIG_CROSS_MEMORY_ATTACH",
                          f.kernel),
              "boot a kernel that has it; the kernels of all distributions do", Reason::kNotYet};
    default:
      return {Verdict::kMissing,
              fmt::format("process_vm_readv is forbidden here ({}){}", Words(f.read_errno),
                          f.seccomp_mode != 0 ? ": a seccomp filter is in force" : ""),
              std::string(kContainerRemedy) + ", or --security-opt seccomp=unconfined", WhoForbids(f)};
  }
}

Judgement Ptrace(const NodeFacts& f) {
  if (f.ptrace_errno == 0) {
    return {Verdict::kOk, "ptrace works: a running thread can be stopped briefly for a sample", ""};
  }
  return {
      Verdict::kLimited,
      fmt::format("ptrace is forbidden here ({}){}: no thread can be stopped for a sample, only --nonblocking works",
                  Words(f.ptrace_errno), f.seccomp_mode != 0 ? ", a seccomp filter is in force" : ""),
      std::string(kContainerRemedy) + ", or --security-opt seccomp=unconfined; or sample with --nonblocking",
      WhoForbids(f)};
}

Judgement Yama(const NodeFacts& f) {
  if (!f.yama_scope.has_value()) {
    return {Verdict::kOk, "this kernel has no Yama", ""};
  }
  const std::string scope = fmt::format("kernel.yama.ptrace_scope is {}", *f.yama_scope);
  if (*f.yama_scope == 0) {
    return {Verdict::kOk, scope, ""};
  }
  if (*f.yama_scope >= 3) {
    return {Verdict::kMissing, scope + ": no user may read another process, not even root",
            "this setting holds until the next boot: remove it from /etc/sysctl.conf and /etc/sysctl.d and reboot"};
  }
  if (HasCapability(f)) {
    return {Verdict::kOk, scope + ", which our CAP_SYS_PTRACE overrides", ""};
  }
  const std::string remedy =
      f.in_container ? std::string(kContainerRemedy) : "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0";
  if (*f.yama_scope == 2) {
    return {Verdict::kMissing, scope + ": only an administrator may read other processes", remedy};
  }
  return {Verdict::kLimited,
          scope + ": only programs that ptrace-prof starts may be read (`ptrace-prof record -- COMMAND`)", remedy};
}

Judgement Capabilities(const NodeFacts& f) {
  if (HasCapability(f)) {
    return {Verdict::kOk, fmt::format("we run as {} with CAP_SYS_PTRACE: processes of every user can be read", f.user),
            ""};
  }
  if (f.uid == Uid(0) && (f.cap_effective & kBecomeAnybody) == kBecomeAnybody) {
    return {Verdict::kLimited,
            "we are root without CAP_SYS_PTRACE: a process is read as its owner, which fails if it holds capabilities, "
            "is protected (not dumpable) or is in another user namespace",
            std::string(kContainerRemedy)};
  }
  if (f.uid == Uid(0)) {
    return {Verdict::kLimited,
            "we are root without CAP_SYS_PTRACE: only root's processes without capabilities of their own can be read",
            std::string(kContainerRemedy)};
  }
  return {Verdict::kLimited,
          fmt::format("we run as {} without CAP_SYS_PTRACE: only processes of {} can be read", f.user, f.user),
          "run with sudo to read processes of other users"};
}

Judgement Seccomp(const NodeFacts& f) {
  if (f.seccomp_mode == 0) {
    return {Verdict::kOk, "no seccomp filter is in force", ""};
  }
  if (f.read_errno == 0 && f.ptrace_errno == 0) {
    return {Verdict::kOk, "a seccomp filter is in force, but allows what is needed", ""};
  }
  return {Verdict::kLimited, "a seccomp filter is in force, and forbids what the lines above name",
          std::string(kContainerRemedy) + ", or --security-opt seccomp=unconfined"};
}

Judgement UserNamespace(const NodeFacts& f) {
  if (!f.initial_user_ns.has_value() || *f.initial_user_ns) {
    return {Verdict::kOk, "we are in the initial user namespace: our rights apply to all processes", ""};
  }
  return {Verdict::kLimited,
          "we are in a separate user namespace (a container): our rights do not apply to processes outside",
          "run on the host to read those"};
}

Judgement PidNamespace(const NodeFacts& f) {
  if (!f.initial_pid_ns.has_value() || *f.initial_pid_ns) {
    return {Verdict::kOk, "we see all processes of this machine", ""};
  }
  return {Verdict::kLimited,
          "we are in a pid namespace (a container): only its processes are visible, with other pids than on the host",
          "run on the host, or in a container with --pid=host (hostPID: true), to see the others"};
}

Judgement SecurityModules(const NodeFacts& f) {
  if (f.selinux_forbids == true) {
    return {Verdict::kMissing, "SELinux forbids ptrace on this machine (the boolean deny_ptrace is on)",
            "sudo setsebool deny_ptrace off"};
  }
  const std::string modules = f.security_modules.empty() ? "unknown: cannot read the list of active security modules"
                                                         : "security modules: " + f.security_modules;
  const bool unconfined =
      f.security_label.empty() || f.security_label.starts_with("unconfined") || f.security_label.starts_with("kernel");
  if (unconfined || f.security_label.find(':') != std::string::npos) {  // SELinux labels every process
    return {Verdict::kOk, modules + (f.security_label.empty() ? "" : "; our label: " + f.security_label), ""};
  }
  return {Verdict::kLimited,
          fmt::format("we run under the AppArmor profile {}: it may forbid reading processes of other profiles",
                      f.security_label),
          "run unconfined: docker run --security-opt apparmor=unconfined, or appArmorProfile: {type: Unconfined}"};
}

Judgement Procfs(const NodeFacts& f) {
  if (f.hidepid.empty() || HasCapability(f)) {
    return {Verdict::kOk, "/proc shows all processes", ""};
  }
  return {Verdict::kLimited,
          fmt::format("/proc is mounted with hidepid={}: processes of other users are hidden", f.hidepid),
          "run with sudo, or: sudo mount -o remount,hidepid=0 /proc"};
}

Judgement Cuda(const NodeFacts& f) {
  if (!f.nvidia.has_value()) {
    return {Verdict::kOk, "no NVIDIA driver is loaded: GPU waits are not reported", ""};
  }
  return {Verdict::kOk,
          fmt::format("NVIDIA driver {}: GPU waits are reported as states of the waiting thread", *f.nvidia), ""};
}

struct Row {
  const char* subject;
  Judgement (*judge)(const NodeFacts&);
  Reason reason;  // if the verdict is not kOk
};
constexpr Row kRows[] = {
    {"memory-reading", MemoryReading, Reason::kPermissionDenied},
    {"ptrace", Ptrace, Reason::kPermissionDenied},
    {"yama", Yama, Reason::kYamaDenied},
    {"capabilities", Capabilities, Reason::kCapabilityMissing},
    {"seccomp", Seccomp, Reason::kSeccompDenied},
    {"user-namespace", UserNamespace, Reason::kUserNamespace},
    {"pid-namespace", PidNamespace, Reason::kUnspecified},
    {"lsm", SecurityModules, Reason::kLsmDenied},
    {"procfs", Procfs, Reason::kProcHidden},
    {"cuda", Cuda, Reason::kUnspecified},
};

}  // namespace

std::vector<Check> JudgeNode(const NodeFacts& facts) {
  std::vector<Check> checks;
  for (const Row& row : kRows) {
    Judgement judgement = row.judge(facts);
    checks.push_back({{},
                      row.subject,
                      judgement.verdict,
                      std::move(judgement.cause),
                      std::move(judgement.remedy),
                      judgement.verdict == Verdict::kMissing ? Code::kPermissionDenied : Code::kOk,
                      judgement.verdict == Verdict::kOk          ? Reason::kUnspecified
                      : judgement.reason != Reason::kUnspecified ? judgement.reason
                                                                 : row.reason});
  }
  return checks;
}

}  // namespace ptrace_prof
