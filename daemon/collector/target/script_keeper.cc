#include "daemon/collector/target/script_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "attach/base/capability_sets.h"
#include "attach/base/system_call_rules.h"

namespace ptrace_prof {
namespace {

// A message is one packet. Request: a verb and a text. Answer: a code, a number and a text.
constexpr char kMake = 'm';
constexpr char kFill = 'f';
constexpr char kReaders = 'n';
constexpr char kRemove = 'r';
constexpr char kOthers = 'o';
constexpr char kEmpty = 'e';
constexpr size_t kMostBytes = 8192;

struct Head {
  int32_t code = 0;  // Code
  uint32_t number = 0;
};

struct Reply {
  Head head;
  std::string text;
};

template <typename T>
Reply Say(const Result<T>& result) {
  if (result.has_error()) {
    return {{static_cast<int32_t>(result.error().code), 0}, result.error().message};
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return {{}, result.value()};
  } else if constexpr (std::is_same_v<T, void>) {
    return {};
  } else {
    return {{0, static_cast<uint32_t>(result.value())}, {}};
  }
}

Reply Do(ScriptFolder& folder, std::string_view asked) {
  switch (asked.front()) {
    case kMake: return Say(folder.Make());
    case kFill: return Say(folder.Fill(asked.substr(1)));
    case kReaders: return Say(folder.Readers());
    case kRemove: return Say(folder.Remove());
    case kOthers: return Say(folder.AnotherHasOne());
    case kEmpty: return Say(folder.Empty());
    default: return {{static_cast<int32_t>(Code::kInvalidArgument), 0}, "unknown request"};
  }
}

// Enough to make, fill, empty and remove a file in a directory that is found through another one.
constexpr uint32_t kCalls[] = {
    SYS_read,      SYS_write,   SYS_pwrite64,       SYS_close,        SYS_lseek,    SYS_fstat,      SYS_newfstatat,
    SYS_statx,     SYS_openat,  SYS_readlinkat,     SYS_getdents64,   SYS_unlinkat, SYS_ftruncate,  SYS_fcntl,
    SYS_getrandom, SYS_geteuid, SYS_getpid,         SYS_gettid,       SYS_brk,      SYS_munmap,     SYS_mremap,
    SYS_madvise,   SYS_futex,   SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_exit,     SYS_exit_group,
};
constexpr rlimit kScriptBytes{64 << 10, 64 << 10};
constexpr rlimit kFiles{256, 256};
constexpr rlimit kNone{0, 0};

// Everything that may need a right over the target was looked up before. From here on only names of its files are read.
bool Confine() {
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::setrlimit(RLIMIT_FSIZE, &kScriptBytes);
  ::setrlimit(RLIMIT_NOFILE, &kFiles);
  if (SetCapabilities({}) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return false;
  }
  SystemCallRules rules;
  rules.Allow(kCalls);
  rules.AllowWithout(SYS_mmap, 2, PROT_EXEC);
  const uint32_t self = static_cast<uint32_t>(::getpid());
  rules.AllowIfOneOf(SYS_tgkill, 0, std::span(&self, 1));  // abort()
  // A kernel without filters is accepted, as in the collector; a lack of memory is not.
  return rules.Install(SystemCallRules::Rest::kRefused) || errno != ENOMEM;
}

[[noreturn]] void Serve(int line, Pid target) {
  ::prctl(PR_SET_NAME, "ptrace-prof-kee");
  ::syscall(SYS_close_range, 3, line - 1, 0);
  ::syscall(SYS_close_range, line + 1, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDERR_FILENO);
  ScriptFolder folder(target);
  (void)folder.Open().has_error();  // the error is reported with the first request for a script
  if (!Confine()) {
    ::_exit(1);
  }
  std::array<char, kMostBytes> buffer{};
  for (;;) {
    const ssize_t got = ::read(line, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      ::_exit(0);
    }
    const Reply reply = Do(folder, {buffer.data(), static_cast<size_t>(got)});
    std::string packet(sizeof reply.head, '\0');
    std::memcpy(packet.data(), &reply.head, sizeof reply.head);
    packet += reply.text.substr(0, kMostBytes - packet.size());
    if (::write(line, packet.data(), packet.size()) < 0) {
      ::_exit(0);
    }
  }
}

}  // namespace

struct ScriptKeeper::Answer {
  uint32_t number = 0;
  std::string text;
};

Result<std::unique_ptr<ScriptKeeper>> ScriptKeeper::Start(Pid target) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return ErrnoError(errno, "cannot make a socket pair to the helper process");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return ErrnoError(errno, "cannot start the helper process");
  }
  if (child == 0) {
    Serve(theirs.release(), target);
  }
  return std::unique_ptr<ScriptKeeper>(new ScriptKeeper(std::move(ours), Pid(child)));
}

ScriptKeeper::~ScriptKeeper() {
  line_.reset();
  while (::waitpid(child_.value, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ScriptKeeper::Answer> ScriptKeeper::Ask(char verb, std::string_view text) {
  const std::string packet = verb + std::string(text);
  std::array<char, kMostBytes> buffer{};
  ssize_t got = -1;
  if (::write(line_.get(), packet.data(), packet.size()) >= 0) {
    do {
      got = ::read(line_.get(), buffer.data(), buffer.size());
    } while (got < 0 && errno == EINTR);
  }
  Head head;
  if (got < static_cast<ssize_t>(sizeof head)) {
    return Error{Code::kUnavailable, "the helper process that makes scripts for the target has ended", ""};
  }
  std::memcpy(&head, buffer.data(), sizeof head);
  Answer answer{head.number, {buffer.data() + sizeof head, static_cast<size_t>(got) - sizeof head}};
  if (head.code != 0) {
    return Error{static_cast<Code>(head.code), std::move(answer.text), ""};
  }
  return answer;
}

Result<std::string> ScriptKeeper::Make() {
  PP_ASSIGN_OR_RETURN(Answer answer, Ask(kMake));
  return std::move(answer.text);
}

Result<void> ScriptKeeper::Fill(std::string_view text) {
  PP_RETURN_IF_ERROR(Ask(kFill, text));
  return {};
}

Result<uint32_t> ScriptKeeper::Readers() {
  PP_ASSIGN_OR_RETURN(const Answer answer, Ask(kReaders));
  return answer.number;
}

Result<void> ScriptKeeper::Remove() {
  PP_RETURN_IF_ERROR(Ask(kRemove));
  return {};
}

Result<bool> ScriptKeeper::AnotherHasOne() {
  PP_ASSIGN_OR_RETURN(const Answer answer, Ask(kOthers));
  return answer.number != 0;
}

Result<void> ScriptKeeper::Empty() {
  PP_RETURN_IF_ERROR(Ask(kEmpty));
  return {};
}

}  // namespace ptrace_prof
