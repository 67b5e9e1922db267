#include "daemon/trace/stack_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ptrace_prof {
namespace {

Frame MakeFrame(std::string function, int32_t line) {
  Frame frame;
  frame.function = std::move(function);
  frame.file = "/app/main.py";
  frame.line = line;
  return frame;
}

TEST(StackTable, SameThingSameId) {
  StackTable table;
  const FrameId a = table.InternFrame(MakeFrame("a", 1));
  const FrameId b = table.InternFrame(MakeFrame("a", 2));
  EXPECT_NE(a, b);
  EXPECT_EQ(a, table.InternFrame(MakeFrame("a", 1)));
  const StackId ab = table.InternStack(table.InternStack(kEmptyStack, a), b);
  EXPECT_EQ(ab, table.InternStack(table.InternStack(kEmptyStack, a), b));
  EXPECT_EQ(table.depth(ab), 2u);
  EXPECT_EQ(table.leaf(ab), b);
  EXPECT_EQ(table.leaf(table.parent(ab)), a);
  EXPECT_EQ(table.parent(table.parent(ab)), kEmptyStack);
  EXPECT_EQ(table.depth(kEmptyStack), 0u);
  EXPECT_EQ(table.frame_count(), 2u);
  EXPECT_EQ(table.stack_count(), 2u);
}

TEST(StackTable, EveryMemberOfAFrameCounts) {
  StackTable table;
  const std::string other = "other";
  std::vector<Frame> variants(9, MakeFrame("f", 10));
  variants[1].function = other;
  variants[2].file = other;
  variants[3].line = 11;
  variants[4].end_line = 1;
  variants[5].column = 0;
  variants[6].end_column = 0;
  variants[7].first_line = 1;
  variants[8].kind = FrameKind::kMarker;
  for (size_t i = 0; i < variants.size(); ++i) {
    EXPECT_EQ(table.InternFrame(variants[i]).value, i);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    EXPECT_EQ(table.frame(FrameId(static_cast<uint32_t>(i))), variants[i]);
  }
}

TEST(StackTable, AgreesWithAMap) {
  std::mt19937 random(7);
  StackTable table;
  for (int i = 0; i < 50; ++i) {
    table.InternFrame(MakeFrame(fmt::format("f{}", i), i));
  }
  std::map<std::pair<uint32_t, uint32_t>, StackId> model;
  std::vector<StackId> known{kEmptyStack};
  for (int i = 0; i < 200'000; ++i) {
    const StackId parent = known[random() % known.size()];
    const FrameId frame(random() % 50);
    const StackId id = table.InternStack(parent, frame);
    const auto [entry, fresh] = model.try_emplace({parent.value, frame.value}, id);
    ASSERT_EQ(entry->second, id);
    if (fresh) {
      known.push_back(id);
    }
  }
  EXPECT_EQ(table.stack_count(), model.size());
}

TEST(StackTable, ClearForgetsAndSaysSo) {
  StackTable table;
  table.InternStack(kEmptyStack, table.InternFrame(MakeFrame("a", 1)));
  const uint32_t before = table.generation();
  table.Clear();
  EXPECT_NE(table.generation(), before);
  EXPECT_EQ(table.frame_count(), 0u);
  EXPECT_EQ(table.stack_count(), 0u);
}

}  // namespace
}  // namespace ptrace_prof
