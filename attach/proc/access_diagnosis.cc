#include "attach/proc/access_diagnosis.h"

#include <fmt/format.h>

#include <cerrno>
#include <span>

namespace ptrace_prof {
namespace {

constexpr std::string_view kCapabilityRemedy =
    "grant the capability: docker run --cap-add=SYS_PTRACE …, or securityContext.capabilities.add: [SYS_PTRACE] in "
    "Kubernetes";

bool HasPtraceCapability(const AccessFacts& f) { return (f.self.cap_effective & kCapSysPtrace) != 0; }

// What __ptrace_may_access requires of a caller without the capability.
bool SameIdentity(const AccessFacts& f) {
  const uint32_t uid = f.self.uid_fs;
  const uint32_t gid = f.self.gid_fs;
  const ProcessStatus& t = f.target;
  return uid == t.uid_real && uid == t.uid_effective && uid == t.uid_saved &&  //
         gid == t.gid_real && gid == t.gid_effective && gid == t.gid_saved;
}

std::string Subject(const AccessFacts& f) { return fmt::format("process {} ({})", f.pid.value, f.target.name); }

// How the asking user gets rights over all processes. Root, if refused, does not need sudo.
std::string AllRights(const AccessFacts& f, std::string_view otherwise = "run with sudo") {
  return std::string(f.asker.is_root ? kCapabilityRemedy : otherwise);
}

// The same for a right that in a container is better granted alone.
std::string OneRight(const AccessFacts& f, std::string_view otherwise = "run with sudo") {
  return f.self_in_container ? std::string(kCapabilityRemedy) : AllRights(f, otherwise);
}

struct Words {
  std::string message;
  std::string remedy;
};

// Each rule recognises one cause and describes it.
struct Rule {
  Reason reason;
  bool (*fits)(const AccessFacts& f);
  Words (*explain)(const AccessFacts& f);
};

// The kernel would allow attaching, but refused ptrace(2) or process_vm_readv(2).
constexpr Rule kAllowedInPrinciple[] = {
    {Reason::kAlreadyTraced, [](const AccessFacts& f) { return f.target.tracer.value != 0; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} is already traced by process {} ({}), and Linux allows one tracer", Subject(f),
                                f.target.tracer.value, f.tracer_name.empty() ? "name unknown" : f.tracer_name),
                    "end that debugger or tracer first, or sample with --nonblocking"};
     }},
    {Reason::kSeccompDenied, [](const AccessFacts& f) { return f.asker.seccomp_mode != 0; },
     [](const AccessFacts& f) {
       return Words{fmt::format("a seccomp filter forbids the system calls that read {}", Subject(f)),
                    "run with a profile that allows ptrace and process_vm_readv: docker run "
                    "--cap-add=SYS_PTRACE … or --security-opt seccomp=unconfined"};
     }},
};

// The kernel refuses even reading (PTRACE_MODE_READ), although we have the capability.
constexpr Rule kNoReadingForTheCapable[] = {
    {Reason::kUserNamespace, [](const AccessFacts& f) { return f.same_user_ns != true; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} belongs to another container (user namespace); our root rights do not apply there",
                                Subject(f)),
                    "run ptrace-prof outside of the container (on the host, as root), or inside the target's own"};
     }},
};

// The kernel refuses reading, and we lack the capability: identity, capabilities, dumpable.
constexpr Rule kNoReading[] = {
    {Reason::kCapabilityMissing, [](const AccessFacts& f) { return !SameIdentity(f) && f.self.uid_effective == 0; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} belongs to {}, and ptrace-prof runs as root without CAP_SYS_PTRACE", Subject(f),
                                f.target_user),
                    std::string(kCapabilityRemedy)};
     }},
    {Reason::kCallerUidMismatch,
     [](const AccessFacts& f) { return !SameIdentity(f) && f.self.uid_fs != f.target.uid_real; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} belongs to {}, but ptrace-prof runs as {}", Subject(f), f.target_user, f.self_user),
                    fmt::format("run as {} or with sudo", f.target_user)};
     }},
    {Reason::kTargetChangedIds, [](const AccessFacts& f) { return !SameIdentity(f); },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} has changed its user or group ids (a set-user-ID program, or another primary "
                                "group), so its owner may not read it",
                                Subject(f)),
                    AllRights(f)};
     }},
    {Reason::kTargetHasCapabilities,
     [](const AccessFacts& f) { return (f.target.cap_effective & ~f.self.cap_effective) != 0; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} has capabilities that ptrace-prof lacks ({:#x})", Subject(f),
                                f.target.cap_effective & ~f.self.cap_effective),
                    OneRight(f)};
     }},
    {Reason::kTargetNotDumpable, [](const AccessFacts& f) { return !f.dumpable; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} is protected from its own user (not dumpable: it called prctl(PR_SET_DUMPABLE, 0), "
                                "or its program is set-user-ID, has capabilities or is not readable)",
                                Subject(f)),
                    AllRights(f) + "; or start that program without the protection"};
     }},
    {Reason::kUserNamespace, [](const AccessFacts& f) { return f.same_user_ns == false; },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} is in another user namespace, such as that of a container", Subject(f)),
                    "run inside that namespace, or on the host with sudo"};
     }},
};

// Reading is allowed, attaching is not: a security module.
constexpr Rule kNoAttaching[] = {
    {Reason::kYamaDenied, [](const AccessFacts& f) { return f.yama_scope == 3; },
     [](const AccessFacts& f) {
       return Words{fmt::format("no process may read {}: kernel.yama.ptrace_scope is 3 on this machine", Subject(f)),
                    "this setting holds until the next boot: remove it from /etc/sysctl.conf and /etc/sysctl.d and "
                    "reboot"};
     }},
    {Reason::kYamaDenied, [](const AccessFacts& f) { return f.yama_scope == 2 && !HasPtraceCapability(f); },
     [](const AccessFacts& f) {
       return Words{fmt::format("only an administrator may read {}: kernel.yama.ptrace_scope is 2", Subject(f)),
                    OneRight(f, "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0")};
     }},
    {Reason::kYamaDenied, [](const AccessFacts& f) { return f.yama_scope == 1 && !HasPtraceCapability(f); },
     [](const AccessFacts& f) {
       return Words{fmt::format("{} was not started by ptrace-prof, and kernel.yama.ptrace_scope is 1: a process may "
                                "read only its descendants",
                                Subject(f)),
                    AllRights(f, "run with sudo, or: sudo sysctl kernel.yama.ptrace_scope=0") +
                        ", or start the program with `ptrace-prof record -- COMMAND`"};
     }},
};

std::span<const Rule> RulesFor(const AccessFacts& facts) {
  if (facts.attach_mode_errno == 0) {
    return kAllowedInPrinciple;
  }
  if (facts.read_mode_errno == 0) {
    return kNoAttaching;
  }
  return HasPtraceCapability(facts) ? std::span<const Rule>(kNoReadingForTheCapable) : kNoReading;
}

}  // namespace

Error ExplainAccess(const AccessFacts& facts) {
  std::string thing = ThingOf(facts.pid);
  for (const Rule& rule : RulesFor(facts)) {
    if (rule.fits(facts)) {
      Words words = rule.explain(facts);
      return Because(rule.reason, std::move(words.message), std::move(words.remedy), std::move(thing));
    }
  }
  Error error = ErrnoError(facts.refused_errno, "the kernel does not allow reading " + Subject(facts),
                           "a security module such as SELinux (deny_ptrace) or AppArmor may forbid it: see `sudo "
                           "dmesg`; in a container add --cap-add=SYS_PTRACE");
  error.reason = error.code == Code::kPermissionDenied ? Reason::kLsmDenied : error.reason;
  error.thing = std::move(thing);
  return error;
}

Error ExplainRefusal(Pid pid, int err, const Asker& asker) {
  Result<void> target = CheckTarget(pid);
  if (target.has_error()) {
    return std::move(target).error();
  }
  if (err == ESRCH) {
    return Because(Reason::kTargetExited, fmt::format("process {} has ended", pid.value), "", ThingOf(pid));
  }
  Result<AccessFacts> facts = GatherAccessFacts(pid, err, asker);
  return facts.has_value() ? ExplainAccess(facts.value()) : std::move(facts).error();
}

}  // namespace ptrace_prof
