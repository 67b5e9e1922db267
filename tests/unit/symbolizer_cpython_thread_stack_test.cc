// Stacks in memory of our own, with a layout of our own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>

#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/thread_stack.h"

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

}  // namespace
}  // namespace ptrace_prof
