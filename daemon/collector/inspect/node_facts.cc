#include "daemon/collector/inspect/node_facts.h"

#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "attach/proc/access_facts.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

// Inode numbers of the initial namespaces (include/linux/proc_ns.h).
constexpr uint64_t kInitialUserNamespace = 0xEFFFFFFD;
constexpr uint64_t kInitialPidNamespace = 0xEFFFFFFC;

int ReadOurselves() {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

int SeizeNoProcess() {
  const long done = ::ptrace(PTRACE_SEIZE, -1, nullptr, nullptr);
  return done == 0 || errno == ESRCH ? 0 : errno;
}

std::optional<bool> IsNamespace(const char* path, uint64_t inode) {
  struct stat info {};
  return ::stat(path, &info) == 0 ? std::optional(info.st_ino == inode) : std::nullopt;
}

// The first line of a small file; empty if it cannot be read.
std::string FirstLine(const char* path) {
  const Result<std::string> text = ReadProcFile(path, 4096);
  return text.has_value() ? text.value().substr(0, text.value().find_first_of(std::string_view("\n\0", 2))) : "";
}

std::optional<bool> SelinuxForbids() {
  const std::string line = FirstLine("/sys/fs/selinux/booleans/deny_ptrace");  // "current pending"
  return line.empty() ? std::nullopt : std::optional(line.front() == '1');
}

std::optional<std::string> NvidiaDriver() {
  const std::string line = FirstLine("/proc/driver/nvidia/version");  // "NVRM version: NVIDIA … Module  550.54.15  …"
  if (line.empty()) {
    return std::nullopt;
  }
  for (size_t start = 0; start < line.size();) {
    const size_t end = std::min(line.find(' ', start), line.size());
    const std::string word = line.substr(start, end - start);
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
    start = end + 1;
  }
  return "of unknown version";
}

}  // namespace

std::string ParseHidepid(std::string_view mountinfo) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"1", "noaccess"}, {"2", "invisible"}, {"4", "ptraceable"}, {"0", ""}, {"off", ""}};
  std::string found;
  while (!mountinfo.empty()) {
    const size_t newline = std::min(mountinfo.find('\n'), mountinfo.size());
    const std::string_view line = mountinfo.substr(0, newline);
    mountinfo.remove_prefix(std::min(newline + 1, mountinfo.size()));
    if (line.find(" /proc ") == std::string_view::npos || line.find(" - proc ") == std::string_view::npos) {
      continue;
    }
    constexpr std::string_view kOption = "hidepid=";
    const size_t at = line.find(kOption, line.find(" - proc "));
    const std::string_view value =
        at == std::string_view::npos ? "" : line.substr(at + kOption.size(), line.find(',', at) - at - kOption.size());
    found = value;  // the last mount at a place hides earlier ones
    for (const auto& [number, name] : kNames) {
      found = found == number ? std::string(name) : found;
    }
  }
  return found;
}

NodeFacts GatherNodeFacts() {
  NodeFacts facts;
  utsname kernel{};
  facts.kernel = ::uname(&kernel) == 0 ? kernel.release : "unknown";
  facts.read_errno = ReadOurselves();
  facts.ptrace_errno = SeizeNoProcess();
  if (const auto self = GatherAccessFacts(Pid(::getpid()), 0, CurrentAsker()); self.has_value()) {
    facts.yama_scope = self.value().yama_scope;
    facts.cap_effective = self.value().self.cap_effective;
    facts.uid = Uid(self.value().self.uid_effective);
    facts.user = self.value().self_user;
    facts.seccomp_mode = self.value().self.seccomp_mode;
    facts.in_container = self.value().self_in_container;
  }
  facts.initial_user_ns = IsNamespace("/proc/self/ns/user", kInitialUserNamespace);
  facts.initial_pid_ns = IsNamespace("/proc/self/ns/pid", kInitialPidNamespace);
  facts.security_modules = FirstLine("/sys/kernel/security/lsm");
  facts.security_label = FirstLine("/proc/self/attr/current");
  facts.selinux_forbids = SelinuxForbids();
  const auto mounts = ReadProcFile("/proc/self/mountinfo");
  facts.hidepid = mounts.has_value() ? ParseHidepid(mounts.value()) : "";
  facts.nvidia = NvidiaDriver();
  return facts;
}

}  // namespace ptrace_prof
