// The GPU shim's walk through the frames of its own thread, over frames that no interpreter has made.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/attach/target/gpu/gpu_frames.h"
#include "tests/unit/attach/target/gpu/gpu_target.h"

namespace ptrace_prof {
namespace {

struct Walked {
  pp_gpu_chain chain;
  std::vector<pp_gpu_frame> frames;
};

Walked Walk(const MadeStack& stack, const pp_gpu_python& python) {
  Walked walked;
  walked.frames.resize(PP_GPU_STACK_FRAMES);
  walked.chain = pp_gpu_walk(&python, AddressOf(stack.thread), walked.frames.data(), PP_GPU_STACK_FRAMES);
  walked.frames.resize(walked.chain.count);
  const pp_gpu_chain counted = pp_gpu_walk(&python, AddressOf(stack.thread), nullptr, 0);
  EXPECT_EQ(std::tuple(counted.hash, counted.count, counted.end),
            std::tuple(walked.chain.hash, walked.chain.count, walked.chain.end));
  return walked;
}
Walked Walk(const MadeStack& stack) { return Walk(stack, stack.Python()); }

TEST(GpuWalk, ReportsEveryFrameTheInnermostFirst) {
  const MadeStack stack(3);
  const Walked walked = Walk(stack);
  EXPECT_EQ(walked.chain.end, static_cast<uint32_t>(PP_GPU_WALK_WHOLE));
  ASSERT_EQ(walked.frames.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(walked.frames[i].code, AddressOf(stack.codes[i]));
    EXPECT_EQ(walked.frames[i].instruction, 100 + i);
    const MadeCode& code = stack.codes[i];
    EXPECT_EQ(
        walked.frames[i].identity,
        PP_GPU_CODE_IDENTITY(code.file, code.name, PP_GPU_CODE_OTHER(code.qualname, code.line_table), code.first_line));
  }
}

TEST(GpuWalk, TheHashKnowsEveryPart) {
  MadeStack stack(4);
  std::vector<uint64_t> hashes = {Walk(stack).chain.hash};
  EXPECT_EQ(Walk(stack).chain.hash, hashes.front());
  const auto add = [&] { hashes.push_back(Walk(stack).chain.hash); };
  ++stack.frames[3].instruction;
  add();
  stack.codes[2].name += 8;
  add();
  std::swap(stack.frames[0].instruction, stack.frames[1].instruction);
  add();
  stack.thread.frame = AddressOf(stack.frames[1]);
  add();
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

TEST(GpuWalk, PassesOverFramesWithoutPythonAndALeafThatHasReturned) {
  MadeStack stack(4);
  stack.frames[0].code = 0;
  stack.frames[2].owner = kNoPython;
  stack.frames[2].code = 1;  // must not be read
  const Walked walked = Walk(stack);
  ASSERT_EQ(walked.frames.size(), 2);
  EXPECT_EQ(walked.frames[0].code, AddressOf(stack.codes[1]));
  EXPECT_EQ(walked.frames[1].code, AddressOf(stack.codes[3]));
}

TEST(GpuWalk, OtherWaysToTheFrameAndOtherInstructions) {
  MadeStack stack(1);
  const uint64_t cframe[2] = {0, stack.thread.frame};
  pp_gpu_python python = stack.Python();
  python.thread_cframe = python.thread_frame;
  python.thread_frame = PP_GPU_NO_FIELD;
  python.cframe_frame = 8;
  stack.thread.frame = AddressOf(cframe);
  EXPECT_EQ(Walk(stack, python).chain.count, 1);
  python.instruction_is_index = 1;
  stack.frames[0].instruction = UINT32_MAX;  // before the first instruction
  EXPECT_EQ(Walk(stack, python).frames[0].instruction, UINT64_MAX);
  python.frame_tag_mask = 3;
  stack.frames[0].code |= 1;
  EXPECT_EQ(Walk(stack, python).frames[0].code, AddressOf(stack.codes[0]));
  stack.thread.frame = 7;
  EXPECT_EQ(Walk(stack, python).chain.count, 0);
}

TEST(GpuWalk, KeepsTheInnerFramesOfADeepStack) {
  const MadeStack stack(1000);
  const Walked walked = Walk(stack);
  EXPECT_EQ(walked.chain.end, static_cast<uint32_t>(PP_GPU_WALK_DEEPER));
  ASSERT_EQ(walked.frames.size(), PP_GPU_STACK_FRAMES);
  EXPECT_EQ(walked.frames.back().code, AddressOf(stack.codes[PP_GPU_STACK_FRAMES - 1]));
  const MadeStack whole(PP_GPU_STACK_FRAMES);
  EXPECT_EQ(Walk(whole).chain.end, static_cast<uint32_t>(PP_GPU_WALK_WHOLE));
}

TEST(GpuWalk, FollowsNoPointerThatCannotBeOne) {
  for (const uint64_t bad : {uint64_t{1}, uint64_t{8}, uint64_t{4088}, uint64_t{0x1001}, uint64_t{1} << 56,
                             uint64_t{0xffff'8000'0000'0000}, UINT64_MAX}) {
    MadeStack stack(3);
    stack.frames[1].previous = bad;
    EXPECT_EQ(Walk(stack).chain.end, static_cast<uint32_t>(PP_GPU_WALK_BROKEN)) << bad;
    stack.frames[1].previous = AddressOf(stack.frames[2]);
    stack.frames[1].code = bad;
    EXPECT_EQ(Walk(stack).chain.end, static_cast<uint32_t>(PP_GPU_WALK_BROKEN)) << bad;
    stack.thread.frame = bad;
    EXPECT_EQ(Walk(stack).chain.count, 0) << bad;
    const pp_gpu_python python = stack.Python();
    EXPECT_EQ(pp_gpu_walk(&python, bad, nullptr, 0).count, 0) << bad;
  }
}

TEST(GpuWalk, ACircleEnds) {
  MadeStack stack(3);
  stack.frames[2].previous = AddressOf(stack.frames[0]);
  EXPECT_EQ(Walk(stack).chain.count, PP_GPU_STACK_FRAMES);
  for (MadeFrame& frame : stack.frames) {
    frame.owner = kNoPython;
  }
  EXPECT_EQ(Walk(stack).chain.end, static_cast<uint32_t>(PP_GPU_WALK_BROKEN));
}

TEST(GpuWalk, NothingIsTouchedOnceTheInterpreterEnds) {
  MadeStack stack(2);
  stack.finalizing = 1;
  stack.thread.frame = 4096;  // at an address that is not mapped
  EXPECT_EQ(Walk(stack).chain.end, static_cast<uint32_t>(PP_GPU_WALK_BROKEN));
}

TEST(GpuWalk, WritesNoMoreFramesThanThereIsRoomFor) {
  const MadeStack stack(5);
  const pp_gpu_python python = stack.Python();
  std::vector<pp_gpu_frame> frames(5);
  EXPECT_EQ(pp_gpu_walk(&python, AddressOf(stack.thread), frames.data(), 3).end,
            static_cast<uint32_t>(PP_GPU_WALK_BROKEN));
  EXPECT_EQ(frames[3].code, 0);
}

}  // namespace
}  // namespace ptrace_prof
