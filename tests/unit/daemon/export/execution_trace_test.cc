// PyTorch's execution trace out of a trace: as it is if it is whole, and made whole if not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "daemon/trace/stack_table.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/export/exporting.h"

namespace ptrace_prof {
namespace {

constexpr Pid kJob{7}, kOther{8};
constexpr std::string_view kHead = "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7,\n  \"nodes\": [";
constexpr std::string_view kTail = "\n  ],\n  \"finish_ts\": 71102632\n}";
constexpr std::string_view kThreadName = "[pytorch|profiler|execution_trace|thread]";
constexpr std::string_view kProcessName = "[pytorch|profiler|execution_trace|process]";

std::string NodeOf(int id, std::string_view name, int parent, int thread = 1) {
  return fmt::format(
      "\n    {{\n      \"id\": {}, \"name\": \"{}\", \"ctrl_deps\": {},\n      \"inputs\": {{\"values\": [[7,8]]}},\n"
      "      \"attrs\": [{{\"name\": \"tid\", \"type\": \"uint64\", \"value\": {}}}]\n    }}",
      id, name, parent, thread);
}

std::string Joined(std::initializer_list<std::string> nodes) {
  std::string text(kHead);
  for (const std::string& node : nodes) {
    text += (text.size() > kHead.size() ? "," : "") + node;
  }
  return text;
}

std::string TraceOf(std::initializer_list<std::pair<Pid, std::string>> pieces) {
  MemorySink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(kJob, &request);
  TraceWriter writer(sink, stacks, request, {});
  for (const auto& [pid, piece] : pieces) {
    writer.AddExecutionTrace(pid, piece);
  }
  EXPECT_TRUE(writer.End(Nanos(1), {}, {}).has_value());
  return sink.bytes();
}

Exported Exporting(const std::string& text) {
  return Export(TraceOf({{kJob, text.substr(0, 100)}, {kJob, text.substr(100)}}), ExportFormat::kExecutionTrace);
}

std::string Whole() {
  return Joined({NodeOf(2, kThreadName, 1), NodeOf(4, "aten::mm", 3), NodeOf(3, "aten::linear", 2),
                 NodeOf(1, kProcessName, 1)}) +
         std::string(kTail);
}

bool HasNote(const Exported& exported, std::string_view text) {
  for (const std::string& note : exported.result.value().notes) {
    if (note.find(text) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(ExecutionTraceTest, AWholeOneIsAsItWas) {
  const Exported exported = Exporting(Whole());
  ASSERT_TRUE(exported.result.has_value()) << exported.result.error().message;
  EXPECT_EQ(exported.bytes, Whole());
}

TEST(ExecutionTraceTest, WhatHasNoParentIsUnderItsThread) {
  const Exported exported = Exporting(Joined({NodeOf(2, kThreadName, 1, 5), NodeOf(9, "aten::t", 8, 5),
                                              NodeOf(11, "aten::relu", 10, 6), NodeOf(1, kProcessName, 1)}) +
                                      std::string(kTail));
  ASSERT_TRUE(exported.result.has_value());
  EXPECT_EQ(exported.bytes, Joined({NodeOf(2, kThreadName, 1, 5), NodeOf(9, "aten::t", 2, 5),
                                    NodeOf(11, "aten::relu", 1, 6), NodeOf(1, kProcessName, 1)}) +
                                std::string(kTail));
  EXPECT_TRUE(HasNote(exported, "2 nodes were called by an operator that PyTorch did not record to its end"));
}

TEST(ExecutionTraceTest, OneWithoutItsEndGetsOneWhereverItBreaks) {
  const std::string whole = Whole();
  const size_t first = Joined({NodeOf(2, kThreadName, 1)}).size();
  for (size_t size = first; size < whole.size(); ++size) {
    const Exported exported = Exporting(whole.substr(0, size));
    ASSERT_TRUE(exported.result.has_value()) << size;
    EXPECT_TRUE(exported.bytes.starts_with(Joined({NodeOf(2, kThreadName, 1)}))) << size;
    EXPECT_TRUE(exported.bytes.ends_with("]\n    }\n  ]\n}") || exported.bytes.ends_with("}")) << size;
    EXPECT_NE(exported.bytes.find(kProcessName), std::string::npos) << size;
    EXPECT_EQ(std::count(exported.bytes.begin(), exported.bytes.end(), '{'),
              std::count(exported.bytes.begin(), exported.bytes.end(), '}'))
        << size;
  }
  EXPECT_TRUE(HasNote(Exporting(whole.substr(0, first + 20)), "The end of the execution trace is missing"));
}

TEST(ExecutionTraceTest, BrokenNodesAreLeftOut) {
  const std::string broken = NodeOf(4, "aten::mm", 3).substr(0, 60);
  const Exported exported =
      Exporting(Joined({NodeOf(2, kThreadName, 1), broken, NodeOf(3, "aten::linear", 2), NodeOf(1, kProcessName, 1)}) +
                std::string(kTail));
  ASSERT_TRUE(exported.result.has_value());
  EXPECT_EQ(exported.bytes,
            Joined({NodeOf(2, kThreadName, 1), NodeOf(3, "aten::linear", 2), NodeOf(1, kProcessName, 1)}) +
                std::string(kTail));
  EXPECT_TRUE(HasNote(exported, "1 nodes were not whole"));
}

TEST(ExecutionTraceTest, AWholeOneOfAnotherFormIsAsItWas) {
  const std::string text = std::string(kHead) +
                           "\n    {\n      \"name\": \"aten::mm\", \"id\": 2, \"parent\": 1\n    }" +
                           std::string(kTail);
  const Exported exported = Exporting(text);
  ASSERT_TRUE(exported.result.has_value());
  EXPECT_EQ(exported.bytes, text);
  EXPECT_TRUE(Exporting(text.substr(0, text.size() - 1)).result.has_error());
}

TEST(ExecutionTraceTest, IsRefusedWhereThereIsNoneOrSeveral) {
  const auto none = Export(TraceOf({}), ExportFormat::kExecutionTrace).result;
  ASSERT_TRUE(none.has_error());
  EXPECT_EQ(none.error().message, "the trace has no execution trace of PyTorch");
  const auto two = Export(TraceOf({{kJob, Whole()}, {kOther, Whole()}}), ExportFormat::kExecutionTrace).result;
  ASSERT_TRUE(two.has_error());
  EXPECT_EQ(two.error().message, "the trace has execution traces of 2 processes");
  const auto other = Export(TraceOf({{kJob, "no JSON"}}), ExportFormat::kExecutionTrace).result;
  EXPECT_TRUE(other.has_error());
}

}  // namespace
}  // namespace ptrace_prof
