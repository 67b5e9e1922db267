// The verdicts on nodes of other kinds than this machine.
#include "daemon/collector/inspect/node_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "attach/proc/access_facts.h"

namespace ptrace_prof {
namespace {

NodeFacts Ordinary() {
  NodeFacts facts;
  facts.kernel = "6.1.0";
  facts.uid = Uid(1000);
  facts.user = "ann";
  facts.initial_user_ns = facts.initial_pid_ns = true;
  return facts;
}

Check CheckOf(const NodeFacts& facts, std::string_view subject) {
  const std::vector<Check> checks = JudgeNode(facts);
  const auto found = std::ranges::find(checks, subject, &Check::subject);
  EXPECT_NE(found, checks.end()) << subject;
  return found == checks.end() ? Check{} : *found;
}

struct Case {
  const char* what;
  void (*change)(NodeFacts& f);
  const char* subject;
  Verdict verdict;
  const char* in_cause;
  const char* in_remedy;
};

const Case kCases[] = {
    {"all well", [](NodeFacts&) {}, "memory-reading", Verdict::kOk, "process_vm_readv works", ""},
    {"no such call", [](NodeFacts& f) { f.read_errno = ENOSYS; }, "memory-reading", Verdict::kMissing,
     "CONFIG_CROSS_MEMORY_ATTACH", "kernel"},
    {"forbidden call",
     [](NodeFacts& f) {
       f.read_errno = EPERM;
       f.seccomp_mode = 2;
     },
     "memory-reading", Verdict::kMissing, "seccomp", "--cap-add=SYS_PTRACE"},
    {"forbidden ptrace", [](NodeFacts& f) { f.ptrace_errno = EPERM; }, "ptrace", Verdict::kLimited,
     "only --nonblocking works", "SYS_PTRACE"},
    {"no Yama", [](NodeFacts&) {}, "yama", Verdict::kOk, "no Yama", ""},
    {"Yama 0", [](NodeFacts& f) { f.yama_scope = 0; }, "yama", Verdict::kOk, "is 0", ""},
    {"Yama 1", [](NodeFacts& f) { f.yama_scope = 1; }, "yama", Verdict::kLimited, "record -- COMMAND",
     "sysctl kernel.yama.ptrace_scope=0"},
    {"Yama 1 in a container",
     [](NodeFacts& f) {
       f.yama_scope = 1;
       f.in_container = true;
     },
     "yama", Verdict::kLimited, "is 1", "--cap-add=SYS_PTRACE"},
    {"Yama 1 and root",
     [](NodeFacts& f) {
       f.yama_scope = 1;
       f.cap_effective = kCapSysPtrace;
     },
     "yama", Verdict::kOk, "overrides", ""},
    {"Yama 2", [](NodeFacts& f) { f.yama_scope = 2; }, "yama", Verdict::kMissing, "administrator", "sudo"},
    {"Yama 3 and root",
     [](NodeFacts& f) {
       f.yama_scope = 3;
       f.cap_effective = kCapSysPtrace;
     },
     "yama", Verdict::kMissing, "no user may", "reboot"},
    {"an ordinary user", [](NodeFacts&) {}, "capabilities", Verdict::kLimited, "only processes of ann", "sudo"},
    {"root without the right", [](NodeFacts& f) { f.uid = Uid(0); }, "capabilities", Verdict::kLimited,
     "root without CAP_SYS_PTRACE", "--cap-add"},
    {"root of a container",
     [](NodeFacts& f) {
       f.uid = Uid(0);
       f.cap_effective = 0xa80425fb;  // Docker's default
     },
     "capabilities", Verdict::kLimited, "as its owner", "--cap-add"},
    {"a harmless filter", [](NodeFacts& f) { f.seccomp_mode = 2; }, "seccomp", Verdict::kOk, "allows", ""},
    {"user namespace", [](NodeFacts& f) { f.initial_user_ns = false; }, "user-namespace", Verdict::kLimited,
     "user namespace", "host"},
    {"pid namespace", [](NodeFacts& f) { f.initial_pid_ns = false; }, "pid-namespace", Verdict::kLimited, "container",
     "hostPID"},
    {"AppArmor", [](NodeFacts& f) { f.security_label = "docker-default (enforce)"; }, "lsm", Verdict::kLimited,
     "docker-default", "apparmor=unconfined"},
    {"unconfined", [](NodeFacts& f) { f.security_label = "unconfined"; }, "lsm", Verdict::kOk, "", ""},
    {"SELinux label", [](NodeFacts& f) { f.security_label = "unconfined_u:unconfined_r:unconfined_t:s0"; }, "lsm",
     Verdict::kOk, "", ""},
    {"SELinux", [](NodeFacts& f) { f.selinux_forbids = true; }, "lsm", Verdict::kMissing, "deny_ptrace", "setsebool"},
    {"hidepid", [](NodeFacts& f) { f.hidepid = "invisible"; }, "procfs", Verdict::kLimited, "hidepid=invisible",
     "remount"},
    {"driver", [](NodeFacts& f) { f.nvidia = "550.54.15"; }, "cuda", Verdict::kOk, "550.54.15", ""},
};

TEST(NodeChecks, NameCauseAndRemedy) {
  for (const Case& one : kCases) {
    NodeFacts facts = Ordinary();
    one.change(facts);
    const Check check = CheckOf(facts, one.subject);
    EXPECT_EQ(check.verdict, one.verdict) << one.what;
    EXPECT_NE(check.cause.find(one.in_cause), std::string::npos) << one.what << ": " << check.cause;
    EXPECT_NE(check.remedy.find(one.in_remedy), std::string::npos) << one.what << ": " << check.remedy;
    for (const Check& each : JudgeNode(facts)) {
      EXPECT_FALSE(each.cause.empty()) << one.what << ", " << each.subject;
      EXPECT_EQ(each.remedy.empty(), each.verdict == Verdict::kOk) << one.what << ", " << each.subject;
      EXPECT_TRUE(each.verdict != Verdict::kOk || each.reason == Reason::kUnspecified) << one.what << each.subject;
    }
  }
}

TEST(NodeChecks, SayInOneWordWhatStandsInTheWay) {
  NodeFacts facts = Ordinary();
  EXPECT_EQ(CheckOf(facts, "capabilities").reason, Reason::kCapabilityMissing);
  facts.yama_scope = 3;
  EXPECT_EQ(CheckOf(facts, "yama").reason, Reason::kYamaDenied);
  facts.read_errno = facts.ptrace_errno = EPERM;
  EXPECT_EQ(CheckOf(facts, "memory-reading").reason, Reason::kPermissionDenied);
  facts.seccomp_mode = 2;
  for (const char* subject : {"memory-reading", "ptrace", "seccomp"}) {
    EXPECT_EQ(CheckOf(facts, subject).reason, Reason::kSeccompDenied) << subject;
  }
  facts.hidepid = "invisible";
  EXPECT_EQ(CheckOf(facts, "procfs").reason, Reason::kProcHidden);
  facts.selinux_forbids = true;
  EXPECT_EQ(CheckOf(facts, "lsm").reason, Reason::kLsmDenied);
}

TEST(NodeFacts, Hidepid) {
  const std::string root = "22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n";
  EXPECT_EQ(ParseHidepid(root + "23 22 0:21 / /proc rw,nosuid - proc proc rw,hidepid=2,gid=5\n"), "invisible");
  EXPECT_EQ(ParseHidepid(root + "23 22 0:21 / /proc rw,nosuid - proc proc rw,hidepid=invisible\n"), "invisible");
  EXPECT_EQ(ParseHidepid("23 22 0:21 / /proc rw - proc proc rw,hidepid=1"), "noaccess");
  EXPECT_EQ(ParseHidepid("23 22 0:21 / /proc rw - proc proc rw\n"), "");
  EXPECT_EQ(ParseHidepid("23 22 0:21 / /mnt/proc rw - proc proc rw,hidepid=2\n"), "") << "another mount";
  EXPECT_EQ(ParseHidepid("23 22 0:21 / /proc rw - proc p rw,hidepid=2\n24 23 0:22 / /proc rw - proc p rw\n"), "")
      << "the last one is on top";
  EXPECT_EQ(ParseHidepid(""), "");
}

TEST(NodeFacts, OfThisMachine) {
  const NodeFacts facts = GatherNodeFacts();
  EXPECT_EQ(facts.read_errno, 0);
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_FALSE(facts.user.empty());
}

}  // namespace
}  // namespace ptrace_prof
