// The arming stop at every instruction of an event: what the collector reads in the stopped thread must agree with what
// the thread does when it continues. Each try is a new child, stepped to where the collector arms.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <map>
#include <string>

#include "tests/unit/attach/target/python/event_target.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kFrameBefore = 0x7f0000001000, kFrame = 0x7f0000002008;
constexpr int kStepsAfterTheDecision = 20;
constexpr int kMaxSteps = 5000;

class SharedMemory {
 public:
  explicit SharedMemory(size_t size)
      : size_(size), start_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedMemory() { ::munmap(start_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* start() const { return start_; }

 private:
  size_t size_;
  void* start_;
};

enum class Seen { kEarlier, kPending, kDecided, kEnded };

struct Try {
  Seen seen = Seen::kEnded;
  bool recorded = false;
};

[[noreturn]] void RunTarget(void* tables, void* channel, unsigned tag) {
  event_target_prepare(tables, channel);
  event_target_enter_frame(kFrameBefore);
  event_target_event(PP_TAG_RETURN);  // claims the ring
  event_target_enter_frame(kFrame);
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::raise(SIGSTOP);
  event_target_event(tag);
  ::_exit(0);
}

// Whether the child has stopped again.
bool Step(pid_t child) {
  int status = 0;
  return ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && ::waitpid(child, &status, 0) == child &&
         WIFSTOPPED(status);
}

// Arms a stopped thread, as Channel::Arm does.
Seen Arm(pp_private& page, pp_ring& ring, uint64_t decided) {
  const uint64_t word = ring.last_unarmed;
  page.armed = 1;
  if ((word & PP_UNARMED_PENDING) != 0) {
    ring.last_unarmed = 0;
    return Seen::kPending;
  }
  return word == decided ? Seen::kDecided : Seen::kEarlier;
}

Try ArmAfter(int steps, unsigned tag) {
  const SharedMemory tables(event_target_tables_size());
  const SharedMemory channel(event_target_channel_size());
  auto& ring = *reinterpret_cast<pp_ring*>(static_cast<std::byte*>(channel.start()) + PP_RING_OFFSET(0));
  const pid_t child = ::fork();
  if (child == 0) {
    RunTarget(tables.start(), channel.start(), tag);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  for (int i = 0; i < steps; ++i) {
    if (!Step(child)) {
      return {};
    }
  }
  Try result;
  result.seen = Arm(*static_cast<pp_private*>(tables.start()), ring, PP_UNARMED(kFrame, tag));
  ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  result.recorded = ring.head != 0;
  return result;
}

class ArmingTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ArmingTest, TheThreadDoesWhatTheCollectorReads) {
  std::map<Seen, int> seen;
  for (int steps = 0; steps < kMaxSteps && seen[Seen::kDecided] < kStepsAfterTheDecision; ++steps) {
    const Try result = ArmAfter(steps, GetParam());
    ASSERT_NE(result.seen, Seen::kEnded) << "after " << steps << " steps";
    EXPECT_EQ(result.recorded, result.seen != Seen::kDecided) << "armed after " << steps << " steps";
    ++seen[result.seen];
  }
  EXPECT_GT(seen[Seen::kEarlier], 10);
  EXPECT_GT(seen[Seen::kPending], 1);
  EXPECT_GE(seen[Seen::kDecided], kStepsAfterTheDecision);
}

INSTANTIATE_TEST_SUITE_P(Events, ArmingTest, ::testing::Values(PP_TAG_START, PP_TAG_RETURN, PP_TAG_YIELD));

}  // namespace
}  // namespace ptrace_prof
