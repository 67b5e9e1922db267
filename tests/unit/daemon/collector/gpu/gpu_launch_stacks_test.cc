// Stacks that the shim took, as addresses, become stacks of the trace: over a synthetic interpreter of every layout.
#include "daemon/collector/gpu/gpu_launch_stacks.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tests/fuzz/fake_layouts.h"
#include "tests/fuzz/fake_world.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kStackBytes = PP_PAGE;
constexpr uint64_t kSlotBytes = PP_GPU_MIN_SLOT_BYTES;

// What a shim would have written.
class Reported {
 public:
  Reported()
      : memory_(new (std::align_val_t{PP_PAGE}) uint8_t[PP_GPU_ARENA_SIZE(1, kSlotBytes, uint64_t{kStackBytes})]()),
        area(memory_.get(), 1, kSlotBytes, kStackBytes) {}

  uint32_t AddStack(const std::vector<pp_gpu_frame>& frames, uint32_t flags = 0) {
    const auto number = static_cast<uint32_t>(used_ / PP_GPU_STACK_UNIT);
    uint8_t* at = memory_.get() + PP_GPU_STACKS_OFFSET(1, kSlotBytes) + used_;
    const pp_gpu_stack head{0, static_cast<uint32_t>(frames.size()), flags};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, frames.data(), frames.size() * sizeof(pp_gpu_frame));
    used_ += sizeof head + frames.size() * sizeof(pp_gpu_frame);
    return number;
  }
  void AddLaunch(uint32_t correlation, uint32_t stack, Nanos when) {
    auto* ring = reinterpret_cast<pp_gpu_launch*>(memory_.get() + PP_GPU_LAUNCHES_OFFSET(1, kSlotBytes));
    ring[launches_] = {launches_ + 1, static_cast<uint64_t>(when.value), correlation, stack, 0};
    ++launches_;
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { ::operator delete[](memory, std::align_val_t{PP_PAGE}); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  uint64_t used_ = PP_GPU_STACK_UNIT;
  uint64_t launches_ = 0;

 public:
  GpuLaunchArea area;
};

PythonProcess OfLayout(const Layout& layout) {
  PythonProcess process;
  process.layout = layout;
  return process;
}

class GpuLaunchStacksTest : public testing::TestWithParam<size_t> {
 protected:
  GpuLaunchStacksTest() {
    for (uint64_t i = 0; i < 3; ++i) {  // different names, while all three exist
      memory_.Put(FakeWorld::String(i).value + layout_.string_ascii_data, uint64_t{0x6f6c6c6561 + i});
    }
  }
  template <typename T>
  T Get(RemoteAddr object, uint32_t field) {
    T value{};
    EXPECT_EQ(memory_.ReadValue(object + field, &value), ReadStatus::kOk);
    return value;
  }
  // The frame as the shim sees it now.
  pp_gpu_frame FrameOf(uint64_t i) {
    const RemoteAddr code = FakeWorld::CodeObject(i);
    const bool is_index = !layout_.Has(&Layout::code_instructions);
    const uint64_t qualname = layout_.Has(&Layout::code_qualname) ? Get<uint64_t>(code, layout_.code_qualname) : 0;
    const uint64_t other = PP_GPU_CODE_OTHER(qualname, Get<uint64_t>(code, layout_.code_line_table));
    return {code.value, is_index ? 2 * i : code.value + layout_.code_instructions + 2 * i,
            PP_GPU_CODE_IDENTITY(Get<uint64_t>(code, layout_.code_filename), Get<uint64_t>(code, layout_.code_name),
                                 other, Get<int32_t>(code, layout_.code_first_line))};
  }
  std::vector<std::string> Names(uint32_t correlation, Nanos begin = Nanos(1000)) {
    std::vector<std::string> names;
    const std::optional<StackId> found = stacks_.Of(correlation, begin);
    for (StackId id = found.value_or(kEmptyStack); id != kEmptyStack; id = table_.parent(id)) {
      names.insert(names.begin(), table_.frame(table_.leaf(id)).function);
    }
    return names;
  }
  void Report(uint32_t correlation, const std::vector<pp_gpu_frame>& frames, uint32_t flags = 0) {
    reported_.AddLaunch(correlation, reported_.AddStack(frames, flags), Nanos(1000));
    stacks_.Take(reported_.area);
  }

  const Layout layout_ = AllLayouts().at(GetParam());
  FakeMemory memory_;
  FakeWorld world_{layout_, memory_};
  PythonProcess process_ = OfLayout(layout_);
  StackTable table_;
  Reported reported_;
  GpuLaunchStacks stacks_{memory_, process_, table_};
};

using Strings = std::vector<std::string>;

TEST_P(GpuLaunchStacksTest, NamesTheFramesTheOutermostFirst) {
  Report(7, {FrameOf(0), FrameOf(1), FrameOf(2)});
  EXPECT_EQ(Names(7), (Strings{"cello", "bello", "aello"}));
  EXPECT_EQ(Names(8), Strings());
  EXPECT_FALSE(stacks_.Of(7, Nanos::FromSeconds(10)).has_value()) << "another call, after the numbers wrapped";
  stacks_.Forget(Nanos(1001));
  EXPECT_EQ(Names(7), Strings());
}

TEST_P(GpuLaunchStacksTest, NamesStayKnownWhenTheTableIsCleared) {
  Report(7, {FrameOf(0), FrameOf(1)});
  EXPECT_EQ(Names(7), (Strings{"bello", "aello"}));
  table_.Clear();
  memory_.Put(FakeWorld::CodeObject(0).value + layout_.code_name, uint64_t{0});  // freed since
  EXPECT_EQ(Names(7), (Strings{"bello", "aello"}));
}

TEST_P(GpuLaunchStacksTest, CodeThatHasGivenItsPlaceToAnotherIsNotNamed) {
  const pp_gpu_frame before = FrameOf(1);
  memory_.Put(FakeWorld::CodeObject(1).value + layout_.code_first_line, int32_t{4711});
  Report(7, {FrameOf(0), before, FrameOf(2)});
  EXPECT_EQ(Names(7), (Strings{"cello", std::string(kTruncatedMarker)}));
  Report(8, {FrameOf(0), FrameOf(1), FrameOf(2)});
  EXPECT_EQ(Names(8), (Strings{"cello", "bello", "aello"}));
  Report(9, {FrameOf(1), before});
  EXPECT_EQ(Names(9), Strings()) << "nothing of it is known";
}

TEST_P(GpuLaunchStacksTest, ADeepStackSaysSo) {
  Report(7, {FrameOf(0), FrameOf(1)}, PP_GPU_STACK_DEEPER);
  EXPECT_EQ(Names(7), (Strings{std::string(kTruncatedMarker), "bello", "aello"}));
}

TEST_P(GpuLaunchStacksTest, NonsenseIsNoStack) {
  pp_gpu_frame nowhere = FrameOf(0);
  nowhere.code = 0x7000;
  Report(1, {nowhere});
  pp_gpu_frame elsewhere = FrameOf(0);
  elsewhere.instruction = uint64_t{1} << 40;
  Report(2, {elsewhere});
  reported_.AddLaunch(3, UINT32_MAX, Nanos(1000));
  reported_.AddLaunch(4, 1, Nanos(INT64_MIN));
  stacks_.Take(reported_.area);
  EXPECT_EQ(Names(1), Strings());
  EXPECT_EQ(Names(3), Strings());
  EXPECT_FALSE(stacks_.Of(4, Nanos(INT64_MAX)).has_value());
  if (!layout_.Has(&Layout::code_tlbc)) {  // else no bound is known
    EXPECT_EQ(Names(2), Strings());
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, GpuLaunchStacksTest, testing::Range(size_t{0}, AllLayouts().size()));

}  // namespace
}  // namespace ptrace_prof
