// Launches from the shim's callback to what the collector reads of them: which are reported, which stacks are written.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "attach/inject/gpu_launch_area.h"
#include "tests/unit/attach/target/gpu/gpu_frames.h"
#include "tests/unit/attach/target/gpu/gpu_target.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kLaunchStackBytes = 2 * PP_PAGE;
constexpr uint64_t kMillisecond = 1'000'000;

class GpuLaunchesTest : public testing::Test {
 protected:
  GpuLaunchesTest()
      : size_(PP_GPU_ARENA_SIZE(1, uint64_t{PP_GPU_MIN_SLOT_BYTES}, uint64_t{kLaunchStackBytes})),
        memory_(new (std::align_val_t{PP_PAGE}) uint8_t[size_]()),
        area_(memory_.get(), 1, PP_GPU_MIN_SLOT_BYTES, kLaunchStackBytes) {
    gpu_target_prepare(memory_.get(), kLaunchStackBytes);
    Stand(stack_);
  }

  void Stand(MadeStack& stack) {
    stack.thread.ident = gpu_target_self();
    *gpu_target_python() = stack.Python();
    gpu_target_set_thread_state(AddressOf(stack.thread));
  }
  static void Launch(uint32_t correlation, pp_gpu_launch_class of = PP_GPU_LAUNCH_SINGLE) {
    gpu_target_launch(of, correlation);
  }
  std::vector<GpuLaunchNote> Drain() {
    std::vector<GpuLaunchNote> notes;
    area_.Drain([&](const GpuLaunchNote& note) { notes.push_back(note); });
    return notes;
  }
  pp_gpu_arena& head() { return *reinterpret_cast<pp_gpu_arena*>(memory_.get()); }
  pp_gpu_launch& place(uint32_t index) {
    return reinterpret_cast<pp_gpu_launch*>(memory_.get() + PP_GPU_LAUNCHES_OFFSET(1, PP_GPU_MIN_SLOT_BYTES))[index];
  }

  struct Free {
    void operator()(uint8_t* memory) const { ::operator delete[](memory, std::align_val_t{PP_PAGE}); }
  };
  const uint64_t size_;
  std::unique_ptr<uint8_t, Free> memory_;
  GpuLaunchArea area_;
  MadeStack stack_{40};
};

TEST_F(GpuLaunchesTest, AStackIsWrittenOnceAndNamedByItsLaunches) {
  Launch(5);
  Launch(6);
  ++stack_.frames[0].instruction;
  Launch(7);
  const auto notes = Drain();
  ASSERT_EQ(notes.size(), 3);
  EXPECT_EQ(notes[0].correlation, 5);
  EXPECT_EQ(notes[0].when.value, 1'000'000'000'000);
  EXPECT_EQ(notes[0].stack, notes[1].stack);
  EXPECT_NE(notes[2].stack, notes[1].stack);
  const auto first = area_.ReadStack(notes[0].stack);
  const auto second = area_.ReadStack(notes[2].stack);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->frames.size(), 40);
  EXPECT_EQ(first->frames[0].instruction, 100);
  EXPECT_EQ(second->frames[0].instruction, 101);
  EXPECT_EQ(second->frames[39].code, AddressOf(stack_.codes[39]));
  EXPECT_FALSE(first->is_deeper);
  EXPECT_TRUE(Drain().empty());
}

TEST_F(GpuLaunchesTest, ADeepStackIsMarked) {
  MadeStack deep(300);
  Stand(deep);
  Launch(1);
  const auto notes = Drain();
  ASSERT_EQ(notes.size(), 1);
  const auto stack = area_.ReadStack(notes[0].stack);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->frames.size(), PP_GPU_STACK_FRAMES);
  EXPECT_TRUE(stack->is_deeper);
}

TEST_F(GpuLaunchesTest, TheDriversCallWithinTheRuntimesIsNotReportedAgain) {
  Launch(5);
  Launch(5);
  Launch(6);
  EXPECT_EQ(Drain().size(), 2);
}

TEST_F(GpuLaunchesTest, AThreadReportsOfSoManyASecondAndTheRestIsCounted) {
  gpu_target_pace(PP_GPU_LAUNCH_SINGLE, 5 * kMillisecond, 15 * kMillisecond);
  gpu_target_pace(PP_GPU_LAUNCH_GRAPH, 50 * kMillisecond, 0);
  uint32_t correlation = 0;
  for (int i = 0; i < 10; ++i) {
    Launch(++correlation);
  }
  Launch(++correlation, PP_GPU_LAUNCH_GRAPH);
  Launch(++correlation, PP_GPU_LAUNCH_GRAPH);
  EXPECT_EQ(Drain().size(), 4 + 1);
  gpu_target_pass_time(5 * kMillisecond);
  Launch(++correlation);
  Launch(++correlation);
  EXPECT_EQ(Drain().size(), 1);
  gpu_target_pass_time(1000 * kMillisecond);
  for (int i = 0; i < 1000; ++i, gpu_target_pass_time(kMillisecond)) {
    Launch(++correlation);
  }
  const size_t reported = Drain().size();
  EXPECT_GE(reported, 200);
  EXPECT_LE(reported, 200 + 4);
  gpu_target_count();
  EXPECT_EQ(head().launches_refused, 6 + 1 + 1 + 1000 - reported);
}

TEST_F(GpuLaunchesTest, ThreadsWithoutPythonAreLeftOutAndSpendNothing) {
  gpu_target_pace(PP_GPU_LAUNCH_SINGLE, 5 * kMillisecond, 0);
  gpu_target_set_thread_state(0);
  Launch(1);
  stack_.thread.frame = 0;  // has a state, and runs nothing
  Stand(stack_);
  Launch(2);
  stack_.thread.ident = 77;  // belongs to another thread
  gpu_target_set_thread_state(AddressOf(stack_.thread));
  Launch(3);
  MadeStack runs(3);
  Stand(runs);
  Launch(4);
  const auto notes = Drain();
  ASSERT_EQ(notes.size(), 1);
  EXPECT_EQ(notes[0].correlation, 4);
  gpu_target_count();
  EXPECT_EQ(head().launches_refused + head().launches_dropped + head().stacks_dropped, 0);
}

TEST_F(GpuLaunchesTest, WithoutACaptureNothingIsTouched) {
  gpu_target_set_alive(0);
  Launch(1);
  EXPECT_TRUE(Drain().empty());
  EXPECT_EQ(head().launch_head, 0);
}

TEST_F(GpuLaunchesTest, WhatHasNoRoomIsCounted) {
  uint32_t correlation = 0;
  for (int i = 0; i < 20; ++i, ++stack_.frames[0].instruction) {  // 976 bytes each
    Launch(++correlation);
  }
  EXPECT_EQ(Drain().size(), 8);
  EXPECT_EQ(head().stacks_dropped, 12);
  EXPECT_LE(head().stacks_used, kLaunchStackBytes);
  stack_.frames[0].instruction = 100;  // this stack is known already
  Launch(++correlation);
  EXPECT_EQ(Drain().size(), 1);
  for (uint32_t i = 0; i < PP_GPU_LAUNCH_RING + 10; ++i) {
    Launch(++correlation);
  }
  EXPECT_EQ(head().launches_dropped, 10);
  EXPECT_EQ(Drain().size(), PP_GPU_LAUNCH_RING);
}

TEST_F(GpuLaunchesTest, AStackThatCannotBeReadIsCounted) {
  stack_.frames[20].previous = 3;
  Launch(1);
  EXPECT_TRUE(Drain().empty());
  EXPECT_EQ(head().stacks_dropped, 1);
}

TEST_F(GpuLaunchesTest, ThreadsDoNotGetInEachOthersWay) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kLaunches = 3000;
  stack_.thread.ident = 0;
  gpu_target_python()->thread_ident = offsetof(MadeThread, ident);
  std::vector<std::thread> threads;
  gpu_target_set_thread_state(0);  // no thread runs Python: the test is of ring slots and counts
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (uint32_t i = 1; i <= kLaunches; ++i) {
        Launch(t * kLaunches + i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(Drain().empty());
  gpu_target_count();
  EXPECT_EQ(head().launches_dropped, 0);
}

TEST_F(GpuLaunchesTest, NumbersOfATargetAreNotBelieved) {
  Launch(1);
  const uint32_t stack = Drain().at(0).stack;
  for (const uint32_t bad :
       {uint32_t{0}, UINT32_MAX, kLaunchStackBytes / PP_GPU_STACK_UNIT, kLaunchStackBytes / PP_GPU_STACK_UNIT - 1}) {
    EXPECT_FALSE(area_.ReadStack(bad)) << bad;
  }
  auto* head_of_stack = reinterpret_cast<pp_gpu_stack*>(memory_.get() + PP_GPU_STACKS_OFFSET(1, PP_GPU_MIN_SLOT_BYTES) +
                                                        uint64_t{stack} * PP_GPU_STACK_UNIT);
  for (const uint32_t bad : {uint32_t{0}, PP_GPU_STACK_FRAMES + 1, UINT32_MAX}) {
    head_of_stack->count = bad;
    EXPECT_FALSE(area_.ReadStack(stack)) << bad;
  }
  place(1).sequence = 7;
  place(2).sequence = 3;
  EXPECT_TRUE(Drain().empty()) << "one is missing before them";
  for (uint32_t i = 0; i < PP_GPU_LAUNCH_RING; ++i) {
    place(i).sequence = i + 1 + (i == 0 ? PP_GPU_LAUNCH_RING : 0);
  }
  EXPECT_LE(Drain().size(), PP_GPU_LAUNCH_RING) << "it ends";
}

TEST_F(GpuLaunchesTest, AnIndexThatLiesLeadsNowhere) {
  auto* index = reinterpret_cast<uint64_t*>(memory_.get() + PP_GPU_INDEX_OFFSET(1, PP_GPU_MIN_SLOT_BYTES));
  for (uint32_t i = 0; i < PP_GPU_STACK_INDEX; ++i) {
    index[i] = UINT64_MAX;
  }
  Launch(1);
  EXPECT_TRUE(Drain().empty());
  EXPECT_EQ(head().stacks_dropped, 1);
}

TEST(GpuLaunchArea, WithoutStacksThereAreNoLaunches) {
  GpuLaunchArea none;
  EXPECT_EQ(none.Drain([](const GpuLaunchNote&) {}), 0);
  EXPECT_FALSE(none.ReadStack(1));
}

}  // namespace
}  // namespace ptrace_prof
