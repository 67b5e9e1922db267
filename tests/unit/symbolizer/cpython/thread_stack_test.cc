// Stacks in memory of our own, with a layout of our own.
#include "symbolizer/cpython/thread_stack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "attach/proc/process_memory.h"

namespace ptrace_prof {
namespace {

struct Frame {
  uint64_t code, previous, instruction;
  uint8_t owner;
};
struct State {
  uint64_t interpreter, frame;
};
constexpr uint8_t kPython = 0, kShim = 3;
constexpr uint64_t kInterpreter = 0x10000, kCode = 0x20000;

Layout WithShims() {
  Layout layout;
  layout.thread_interp = offsetof(State, interpreter);
  layout.thread_frame = offsetof(State, frame);
  layout.thread_size = sizeof(State);
  layout.frame_code = offsetof(Frame, code);
  layout.frame_previous = offsetof(Frame, previous);
  layout.frame_instruction = offsetof(Frame, instruction);
  layout.frame_owner = offsetof(Frame, owner);
  layout.frame_size = sizeof(Frame);
  layout.owner_no_python = kShim;
  return layout;
}

uint64_t AddressOf(const Frame& frame) { return reinterpret_cast<uint64_t>(&frame); }

// Whether that stack lacks its base.
bool Lacks(const Layout& layout, const Frame& leaf, size_t depth) {
  const State state{kInterpreter, AddressOf(leaf)};
  ProcessMemory memory{Pid(::getpid())};
  ThreadStack stack(layout, RemoteAddr(reinterpret_cast<uint64_t>(&state)), RemoteAddr(kInterpreter), 100);
  EXPECT_EQ(stack.ReadAgain(memory), CollectStatus::kWhole);
  EXPECT_EQ(stack.frames().size(), depth);
  return stack.lacks_base();
}

TEST(ThreadStack, StandsOnAShimWhereTheInterpreterRunsIt) {
  const Frame shim{0, 0, 0, kShim};
  const Frame outer{kCode, AddressOf(shim), 0, kPython};
  const Frame leaf{kCode, AddressOf(outer), 0, kPython};
  EXPECT_FALSE(Lacks(WithShims(), leaf, 2));
  EXPECT_FALSE(Lacks(WithShims(), shim, 0)) << "nothing runs";
}

TEST(ThreadStack, AFrameThatIsNotLinkedYetHasNoBase) {
  const Frame leaf{kCode, 0, 0, kPython};
  EXPECT_TRUE(Lacks(WithShims(), leaf, 1));
  const Frame shim{0, 0, 0, kShim};
  const Frame over_a_shim{kCode, AddressOf(shim), 0, kPython};
  const Frame inner{kCode, AddressOf(over_a_shim), 0, kPython};
  EXPECT_FALSE(Lacks(WithShims(), inner, 2));
}

TEST(ThreadStack, WithoutShimsTheOutermostFrameIsTheBase) {
  Layout layout = WithShims();
  layout.owner_no_python = Layout{}.owner_no_python;
  const Frame leaf{kCode, 0, 0, kPython};
  EXPECT_FALSE(Lacks(layout, leaf, 1));
}

// Frames that are far apart, as up to 3.10: no two of them are in one read.
std::vector<Frame> Scattered(size_t depth, size_t apart) {
  std::vector<Frame> frames(depth * apart);
  for (size_t i = 0; i < depth; ++i) {
    const uint64_t caller = i == 0 ? 0 : AddressOf(frames[(i - 1) * apart]);
    frames[i * apart] = {kCode, caller, i, kPython};
  }
  return frames;
}

constexpr Nanos kOver = Nanos(0);

TEST(ThreadStack, IsCutOnTheSideOfTheRootWhenTheTimeOfAStopIsOver) {
  constexpr size_t kApart = 4096 / sizeof(Frame);
  const std::vector<Frame> frames = Scattered(1000, kApart);
  const State state{kInterpreter, AddressOf(frames[999 * kApart])};
  ProcessMemory memory{Pid(::getpid())};
  const Layout layout = WithShims();
  ThreadStack stack(layout, RemoteAddr(reinterpret_cast<uint64_t>(&state)), RemoteAddr(kInterpreter), 4096);
  EXPECT_FALSE(stack.is_known());
  EXPECT_EQ(stack.ReadAgain(memory, kOver), CollectStatus::kTooLong);
  ASSERT_GE(stack.frames().size(), 64u) << "a few are asked for in any case";
  EXPECT_LT(stack.frames().size(), 1000u);
  EXPECT_EQ(stack.frames().front().address, AddressOf(frames[999 * kApart]));
  EXPECT_FALSE(stack.is_known());
  stack.Prime(memory);
  EXPECT_TRUE(stack.is_known());
  EXPECT_EQ(stack.ReadAgain(memory, kOver), CollectStatus::kWhole) << "what was prepared is read at once";
  EXPECT_EQ(stack.frames().size(), 1000u);
}

TEST(ThreadStack, OfOneThatIsTooDeepForOneReadTheLeafSideIsPlanned) {
  constexpr size_t kApart = 4096 / sizeof(Frame);
  constexpr size_t kDepth = 2 * kMostPieces;
  const std::vector<Frame> frames = Scattered(kDepth, kApart);
  const State state{kInterpreter, AddressOf(frames[(kDepth - 1) * kApart])};
  ProcessMemory memory{Pid(::getpid())};
  const Layout layout = WithShims();
  ThreadStack stack(layout, RemoteAddr(reinterpret_cast<uint64_t>(&state)), RemoteAddr(kInterpreter), 2 * kDepth);
  stack.Prime(memory);
  EXPECT_LE(stack.pieces(), kMostPieces);
  EXPECT_EQ(stack.ReadAgain(memory, kOver), CollectStatus::kTooLong);
  EXPECT_GE(stack.frames().size(), kMostPieces / 4);
  EXPECT_EQ(stack.ReadAgain(memory), CollectStatus::kWhole);
  EXPECT_EQ(stack.frames().size(), kDepth);
}

}  // namespace
}  // namespace ptrace_prof
