// A thread that waits for room in its ring: what ends the wait, and a child that a signal handler forks during it. The
// target is a process of its own, and the test acts as the collector.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

#include "tests/unit/attach/target/python/event_target.h"

namespace ptrace_prof {
namespace {

constexpr int kPatienceMs = 60'000;  // nothing here takes long, unless it hangs
constexpr uint64_t kForEver = UINT64_MAX;
constexpr char kWentOn = 't', kChildWentOn = 'c', kChildDied = 'x';

int reported_to = -1;  // in the target

void Report(char what) {
  if (::write(reported_to, &what, 1) != 1) {
    ::_exit(1);
  }
}

void Fork(int /*signal*/) { static_cast<void>(::fork()); }

void LookAtChild(int /*signal*/) {
  int status = 0;
  if (::waitpid(-1, &status, WNOHANG) > 0 && status != 0) {
    Report(kChildDied);
  }
}

void* Map(size_t size, int flags) {
  return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
}

class WaitingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    channel_ = Map(event_target_channel_size(), MAP_SHARED);
    tables_ = Map(event_target_tables_size(), MAP_PRIVATE);
    ASSERT_EQ(::pipe(pipe_), 0);
  }
  void TearDown() override {
    if (target_ > 0) {
      ::kill(target_, SIGKILL);
      ::waitpid(target_, nullptr, 0);
    }
    ::close(pipe_[0]);
    ::close(pipe_[1]);
    ::munmap(channel_, event_target_channel_size());
    ::munmap(tables_, event_target_tables_size());
  }

  pp_ring& ring() { return *reinterpret_cast<pp_ring*>(static_cast<std::byte*>(channel_) + PP_RING_OFFSET(0)); }
  const pp_record& record(uint64_t index) {
    return reinterpret_cast<const pp_record*>(static_cast<std::byte*>(channel_) +
                                              PP_RECORDS_OFFSET(1, event_target_records(), 0))[index];
  }
  uint64_t Look(uint64_t& word) { return std::atomic_ref<uint64_t>(word).load(); }
  void MakeRoom() { std::atomic_ref<uint64_t>(ring().tail).store(Look(ring().head)); }

  // Starts a target that has written as many events as fit, and waits with the next one.
  void StartTarget(uint64_t longest) {
    target_ = ::fork();
    ASSERT_GE(target_, 0);
    if (target_ == 0) {
      RunTarget(longest);
    }
    siginfo_t ended{};
    while (Look(ring().holds) == 0 && ended.si_pid == 0) {
      ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(target_), &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    ASSERT_GT(Look(ring().holds), 0U);
  }

  // Memory as the stub makes it: what is shared is not mapped in a child, what is private is zero there.
  [[noreturn]] void RunTarget(uint64_t longest) {
    reported_to = pipe_[1];
    const pid_t self = ::getpid();
    ::madvise(tables_, event_target_tables_size(), MADV_WIPEONFORK);
    ::madvise(channel_, event_target_channel_size(), MADV_DONTFORK);
    struct sigaction action {};
    action.sa_handler = Fork;
    ::sigaction(SIGUSR1, &action, nullptr);
    action.sa_handler = LookAtChild;
    ::sigaction(SIGCHLD, &action, nullptr);
    event_target_prepare(tables_, channel_);
    event_target_let_wait(longest);
    static_cast<pp_private*>(tables_)->armed = 1;
    event_target_enter_frame(0x7f0000001000);
    while (event_target_events_that_fit() > 0) {
      event_target_event(PP_TAG_START);
    }
    event_target_event(PP_TAG_START);
    Report(::getpid() == self ? kWentOn : kChildWentOn);
    ::_exit(0);
  }

  // The next report of the target; 0: there is none.
  char Reported() {
    pollfd heard{pipe_[0], POLLIN, 0};
    char what = 0;
    return ::poll(&heard, 1, kPatienceMs) == 1 && ::read(pipe_[0], &what, 1) == 1 ? what : '\0';
  }

  void* channel_ = nullptr;
  void* tables_ = nullptr;
  int pipe_[2] = {-1, -1};
  pid_t target_ = 0;
};

TEST_F(WaitingTest, RoomEndsIt) {
  StartTarget(kForEver);
  const uint64_t head = Look(ring().head);
  MakeRoom();
  EXPECT_EQ(Reported(), kWentOn);
  EXPECT_EQ(ring().holds, 1U);
  EXPECT_EQ(ring().lost_total, 0U);
  EXPECT_EQ(ring().head, head + 3);
  EXPECT_EQ(PP_TAG(record(head).when_tag), PP_TAG_LOST);
  EXPECT_EQ(record(head).value, 0U);
  EXPECT_EQ(PP_TAG(record(head + 1).when_tag), PP_TAG_LOST_END);
  EXPECT_EQ(PP_TAG(record(head + 2).when_tag), PP_TAG_START);
  EXPECT_EQ(PP_WHEN(record(head + 1).when_tag) - PP_WHEN(record(head).when_tag), ring().held_time);
}

TEST_F(WaitingTest, TimeEndsIt) {
  StartTarget(1'000);
  EXPECT_EQ(Reported(), kWentOn);
  EXPECT_EQ(ring().lost_total, 1U);
  EXPECT_GE(ring().held_time, 1'000U);
}

TEST_F(WaitingTest, DisarmingEndsIt) {
  StartTarget(kForEver);
  const uint64_t head = Look(ring().head);
  uint64_t armed = 0;
  const iovec from{&armed, sizeof armed};
  const iovec to{&static_cast<pp_private*>(tables_)->armed, sizeof armed};
  ASSERT_EQ(::process_vm_writev(target_, &from, 1, &to, 1, 0), static_cast<ssize_t>(sizeof armed));
  EXPECT_EQ(Reported(), kWentOn);
  EXPECT_EQ(ring().head, head);
  EXPECT_EQ(ring().lost_total, 0U);
}

TEST_F(WaitingTest, StoppingAndGoingOnDoesNot) {
  StartTarget(kForEver);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::kill(target_, SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(target_, &status, WUNTRACED), target_);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
    ASSERT_EQ(::kill(target_, SIGCONT), 0);
  }
  MakeRoom();
  EXPECT_EQ(Reported(), kWentOn);
  EXPECT_EQ(ring().lost_total, 0U);
}

TEST_F(WaitingTest, AChildThatIsForkedMeanwhileGoesOnAlone) {
  StartTarget(kForEver);
  const uint64_t head = Look(ring().head);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::kill(target_, SIGUSR1), 0);
    ASSERT_EQ(Reported(), kChildWentOn);
  }
  EXPECT_EQ(Look(ring().head), head);
  MakeRoom();
  EXPECT_EQ(Reported(), kWentOn);
  EXPECT_EQ(ring().head, head + 3);
}

}  // namespace
}  // namespace ptrace_prof
