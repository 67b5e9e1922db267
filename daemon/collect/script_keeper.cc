#include "daemon/collect/script_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace ptrace_prof {
namespace {

// A message is one packet: a verb and a text one way; a code, a number and a text the other.
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
    default: return {{static_cast<int32_t>(Code::kInvalidArgument), 0}, "this is no request"};
  }
}

[[noreturn]] void Serve(int line, Pid target) {
  ::prctl(PR_SET_NAME, "ptrace-prof-kee");
  ::syscall(SYS_close_range, 3, line - 1, 0);
  ::syscall(SYS_close_range, line + 1, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDERR_FILENO);
  ScriptFolder folder(target);
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
    return ErrnoError(errno, "cannot speak to a process of ours");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) {
    return ErrnoError(errno, "cannot start a process");
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
    return Error{Code::kUnavailable, "the process that makes scripts for the target has ended", ""};
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
