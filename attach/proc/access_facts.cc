#include "attach/proc/access_facts.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "attach/proc/own_namespaces.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

int ErrnoOf(bool succeeded) { return succeeded ? 0 : errno; }

int TryReadMode(Pid pid) {
  std::array<char, 16> link{};
  return ErrnoOf(::readlink(ProcPath(pid, "exe").c_str(), link.data(), link.size()) >= 0);
}

int TryAttachMode(Pid pid) {
  const UniqueFd memory(::open(ProcPath(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  return ErrnoOf(memory.is_open());
}

std::optional<int> ReadYamaScope() {
  const Result<std::string> text = ReadProcFile("/proc/sys/kernel/yama/ptrace_scope");
  if (text.has_error()) {
    return std::nullopt;
  }
  int scope = 0;
  const std::string& digits = text.value();
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), scope);
  return status == std::errc() ? std::optional(scope) : std::nullopt;
}

// Files in /proc/pid of a process that is not dumpable belong to root (proc(5), /proc/pid).
bool IsDumpable(Pid pid, uint32_t effective_uid) {
  struct stat info {};
  return ::stat(ProcPath(pid, "environ").c_str(), &info) != 0 || info.st_uid == effective_uid;
}

bool Exists(const char* path) { return ::access(path, F_OK) == 0; }

std::string UserName(uint32_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return "uid " + std::to_string(uid);
}

}  // namespace

Asker CurrentAsker() {
  const Result<ProcessStatus> self = ReadProcessStatus(Pid(::getpid()));
  return {.is_root = ::geteuid() == 0, .seccomp_mode = self.has_value() ? self.value().seccomp_mode : 0};
}

Result<AccessFacts> GatherAccessFacts(Pid pid, int refused_errno, const Asker& asker) {
  AccessFacts facts;
  facts.pid = pid;
  facts.asker = asker;
  facts.refused_errno = refused_errno;
  PP_ASSIGN_OR_RETURN(facts.target, ReadProcessStatus(pid));
  PP_ASSIGN_OR_RETURN(facts.self, ReadProcessStatus(Pid(::getpid())));
  facts.read_mode_errno = TryReadMode(pid);
  facts.attach_mode_errno = TryAttachMode(pid);
  facts.yama_scope = ReadYamaScope();
  facts.same_user_ns = InOurUserNamespace(pid);
  facts.dumpable = IsDumpable(pid, facts.target.uid_effective);
  facts.self_in_container =
      Exists("/.dockerenv") || Exists("/run/.containerenv") || Exists("/var/run/secrets/kubernetes.io");
  facts.target_user = UserName(facts.target.uid_real);
  facts.self_user = UserName(facts.self.uid_effective);
  if (facts.target.tracer.value != 0) {
    const Result<ProcessStatus> tracer = ReadProcessStatus(facts.target.tracer);
    facts.tracer_name = tracer.has_value() ? tracer.value().name : "";
  }
  return facts;
}

}  // namespace ptrace_prof
