#include "attach/proc/memory_grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "attach/base/descriptor_packet.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

// What `ask` returns in a child whose questions another child answers with `answer`.
int Asked(const std::function<void(const MemoryQuestion&, int line)>& answer, const std::function<int()>& ask) {
  return InChild([&] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return -1;
    }
    if (::fork() == 0) {
      ::close(ends[0]);
      MemoryQuestion question;
      while (::read(ends[1], &question, sizeof question) == sizeof question) {
        answer(question, ends[1]);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    UseMemoryGrants(UniqueFd(ends[0]));
    return ask();
  });
}

void Reply(int line, const MemoryAnswer& answer, int descriptor = -1) {
  const std::span<const int> descriptors(&descriptor, descriptor < 0 ? 0 : 1);
  EXPECT_EQ(SendPacket(line, std::as_bytes(std::span(&answer, 1)), descriptors), 0);
}

int AskFor(Pid pid) {
  UniqueFd memory;
  const int refused = AskForMemory(pid, memory);
  return memory.is_open() == (refused == 0) ? refused : 200;
}

TEST(MemoryGrants, AreNoneWithoutALine) {
  EXPECT_FALSE(HasMemoryGrants());
  EXPECT_EQ(AskFor(Pid(::getpid())), EPERM);
  EXPECT_EQ(ProbeMemory(Pid(::getpid())), 0) << "the kernel allows it";
  EXPECT_FALSE(IsReadByGrant(Pid(::getpid())));
}

TEST(MemoryGrants, AreWhatIsAnswered) {
  const auto answer = [](const MemoryQuestion& question, int line) {
    const UniqueFd something(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (question.pid == 1) {
      Reply(line, {.number = question.number}, something.get());
    } else {
      Reply(line, {.number = question.number, .refused = ESRCH});
    }
  };
  EXPECT_EQ(Asked(answer, [] { return AskFor(Pid(1)); }), 0);
  EXPECT_EQ(Asked(answer, [] { return AskFor(Pid(2)); }), ESRCH);
}

TEST(MemoryGrants, AreNotWhatOlderQuestionsGot) {
  const auto answer = [](const MemoryQuestion& question, int line) {
    const UniqueFd something(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Reply(line, {.number = question.number - 1}, something.get());
    Reply(line, {.number = question.number, .refused = EPERM});
  };
  EXPECT_EQ(Asked(answer, [] { return AskFor(Pid(1)); }), EPERM);
}

TEST(MemoryGrants, NeedADescriptor) {
  const auto answer = [](const MemoryQuestion& question, int line) { Reply(line, {.number = question.number}); };
  EXPECT_EQ(Asked(answer, [] { return AskFor(Pid(1)); }), EPERM);
}

TEST(MemoryGrants, EndWithWhoGrants) {
  EXPECT_EQ(Asked([](const MemoryQuestion&, int) { ::_exit(0); }, [] { return AskFor(Pid(1)); }), EPERM);
}

}  // namespace
}  // namespace ptrace_prof
