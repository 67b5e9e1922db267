#include "attach/proc/access_diagnosis.h"

#include <fmt/format.h>

#include <cerrno>

namespace ptrace_prof {
namespace {

constexpr std::string_view kCapabilityRemedy =
    "grant the capability: docker run --cap-add=SYS_PTRACE …, or securityContext.capabilities.add: [SYS_PTRACE] in "
    "Kubernetes";

bool HasPtraceCapability(const AccessFacts& f) { return (f.self.cap_effective & kCapSysPtrace) != 0; }

// What __ptrace_may_access asks of a caller without the capability.
bool SameIdentity(const AccessFacts& f) {
  const uint32_t uid = f.self.uid_fs;
  const uint32_t gid = f.self.gid_fs;
  const ProcessStatus& t = f.target;
  return uid == t.uid_real && uid == t.uid_effective && uid == t.uid_saved &&  //
         gid == t.gid_real && gid == t.gid_effective && gid == t.gid_saved;
}

std::string Subject(const AccessFacts& f) { return fmt::format("process {} ({})", f.pid.value, f.target.name); }

Error Denied(std::string message, std::string remedy) {
  return Error{Code::kPermissionDenied, std::move(message), std::move(remedy)};
}

// Each rule recognises one cause and puts it in words.
struct Rule {
  std::string_view subject;
  bool (*fits)(const AccessFacts& f);
  Error (*explain)(const AccessFacts& f);
};

// The kernel lets us attach in principle, but refused ptrace(2) or process_vm_readv(2).
constexpr Rule kAllowedInPrinciple[] = {
    {"tracer", [](const AccessFacts& f) { return f.target.tracer.value != 0; },
     [](const AccessFacts& f) {
       return Error{Code::kFailedPrecondition,
                    fmt::format("{} is already traced by process {} ({}), and Linux allows one tracer", Subject(f),
                                f.target.tracer.value, f.tracer_name.empty() ? "name unknown" : f.tracer_name),
                    "end that debugger or tracer first, or sample without stops"};
     }},
    {"seccomp", [](const AccessFacts& f) { return f.self.seccomp_mode != 0; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("a seccomp filter forbids us the system call with which to read {}", Subject(f)),
                     "run with a profile that allows ptrace and process_vm_readv: docker run "
                     "--cap-add=SYS_PTRACE … or --security-opt seccomp=unconfined");
     }},
};

// The kernel refuses even to look (PTRACE_MODE_READ): identity, capabilities, dumpable.
constexpr Rule kNoReading[] = {
    {"user-namespace", [](const AccessFacts& f) { return HasPtraceCapability(f) && f.same_user_ns != true; },
     [](const AccessFacts& f) {
       return Denied(
           fmt::format("{} is in another user namespace, where our CAP_SYS_PTRACE does not count", Subject(f)),
           "run ptrace-prof outside of the container (on the host, as root), or inside the target's own");
     }},
    {"capabilities", [](const AccessFacts& f) { return !SameIdentity(f) && f.self.uid_effective == 0; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} belongs to {}, and we are root without CAP_SYS_PTRACE", Subject(f), f.target_user),
                     std::string(kCapabilityRemedy));
     }},
    {"owner", [](const AccessFacts& f) { return !SameIdentity(f) && f.self.uid_fs != f.target.uid_real; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} belongs to {}, and we run as {}", Subject(f), f.target_user, f.self_user),
                     fmt::format("run as {} or with sudo", f.target_user));
     }},
    {"set-user-id", [](const AccessFacts& f) { return !SameIdentity(f); },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} has changed its user or group ids (a set-user-ID program, or another primary "
                                 "group), so its owner may not read it",
                                 Subject(f)),
                     "run with sudo");
     }},
    {"capabilities", [](const AccessFacts& f) { return (f.target.cap_effective & ~f.self.cap_effective) != 0; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} holds capabilities that we do not ({:#x})", Subject(f),
                                 f.target.cap_effective & ~f.self.cap_effective),
                     f.self_in_container ? std::string(kCapabilityRemedy) : "run with sudo");
     }},
    {"not-dumpable", [](const AccessFacts& f) { return !f.dumpable; },
     [](const AccessFacts& f) {
       return Denied(
           fmt::format("{} is protected from its own user (not dumpable: it called prctl(PR_SET_DUMPABLE, 0), "
                       "or its program is set-user-ID, has capabilities or is not readable)",
                       Subject(f)),
           "run with sudo, or start that program without the protection");
     }},
    {"user-namespace", [](const AccessFacts& f) { return f.same_user_ns == false; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} is in another user namespace than we are", Subject(f)),
                     "run inside that namespace, or on the host with sudo");
     }},
};

// Looking is allowed, attaching is not: a security module.
constexpr Rule kNoAttaching[] = {
    {"yama", [](const AccessFacts& f) { return f.yama_scope == 3; },
     [](const AccessFacts& f) {
       return Denied(fmt::format("nobody may read {}: kernel.yama.ptrace_scope is 3 on this machine", Subject(f)),
                     "this setting holds until the next boot: remove it from /etc/sysctl.conf and /etc/sysctl.d and "
                     "reboot");
     }},
    {"yama", [](const AccessFacts& f) { return f.yama_scope == 2 && !HasPtraceCapability(f); },
     [](const AccessFacts& f) {
       return Denied(fmt::format("only an administrator may read {}: kernel.yama.ptrace_scope is 2", Subject(f)),
                     f.self_in_container ? std::string(kCapabilityRemedy)
                                         : "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0");
     }},
    {"yama", [](const AccessFacts& f) { return f.yama_scope == 1 && !HasPtraceCapability(f); },
     [](const AccessFacts& f) {
       return Denied(fmt::format("{} is not our descendant, and kernel.yama.ptrace_scope is 1: a process may read only "
                                 "those that it started",
                                 Subject(f)),
                     "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0, or start the program with "
                     "`ptrace-prof record -- COMMAND`");
     }},
};

template <size_t N>
const Rule* FirstFit(const Rule (&rules)[N], const AccessFacts& facts) {
  for (const Rule& rule : rules) {
    if (rule.fits(facts)) {
      return &rule;
    }
  }
  return nullptr;
}

const Rule* FindRule(const AccessFacts& facts) {
  return facts.attach_mode_errno == 0 ? FirstFit(kAllowedInPrinciple, facts)
         : facts.read_mode_errno != 0 ? FirstFit(kNoReading, facts)
                                      : FirstFit(kNoAttaching, facts);
}

}  // namespace

std::string_view AccessSubject(const AccessFacts& facts) {
  const Rule* rule = FindRule(facts);
  return rule != nullptr ? rule->subject : "lsm";
}

Error ExplainAccess(const AccessFacts& facts) {
  if (const Rule* rule = FindRule(facts); rule != nullptr) {
    return rule->explain(facts);
  }
  return ErrnoError(facts.refused_errno, "the kernel refuses to let us read " + Subject(facts),
                    "a security module such as SELinux (deny_ptrace) or AppArmor may forbid it: see `sudo dmesg`; in a "
                    "container add --cap-add=SYS_PTRACE");
}

Error ExplainRefusal(Pid pid, int err) {
  Result<void> target = CheckTarget(pid);
  if (target.has_error()) {
    return std::move(target).error();
  }
  if (err == ESRCH) {
    return Error{Code::kGone, fmt::format("process {} has ended", pid.value), ""};
  }
  Result<AccessFacts> facts = GatherAccessFacts(pid, err);
  return facts.has_value() ? ExplainAccess(facts.value()) : std::move(facts).error();
}

}  // namespace ptrace_prof
