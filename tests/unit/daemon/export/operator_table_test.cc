// The table of operators by what is known only once the whole trace is: Python stack, module, step.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "rapidjson/document.h"
#include "tests/unit/daemon/export/exporting.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kBegin = 5'000'000'000'000;

TraceOrigin OriginOfTables() {
  TraceOrigin origin;
  origin.monotonic = Nanos(kBegin);
  return origin;
}

class OperatorTables : public ::testing::Test {
 protected:
  OperatorTables() : writer_(sink_, stacks_, CaptureTask(), OriginOfTables()) {
    writer_.AddProcess({.pid = Pid(10)});
    python_ = writer_.AddThread({.pid = Pid(10), .tid = Tid(11)});
    // As a thread that was first seen by its operators, and only then by its Python.
    operators_ = writer_.AddThread({.pid = Pid(10), .tid = Tid(11)});
    engine_ = writer_.AddThread({.pid = Pid(10), .tid = Tid(12)});
  }
  FrameId Frame(const std::string& function, const std::string& file, FrameKind kind = FrameKind::kPython) {
    return stacks_.InternFrame({.function = function, .file = file, .line = 7, .first_line = 7, .kind = kind});
  }
  StackId Stack(std::initializer_list<FrameId> frames) {
    StackId stack = kEmptyStack;
    for (const FrameId frame : frames) {
      stack = stacks_.InternStack(stack, frame);
    }
    return stack;
  }
  void Call(const FrameId& frame, int64_t when) {
    writer_.BeginCall(python_, Nanos(kBegin + when), frame, CallEntry::kCall, {});
  }
  void Return(int64_t when) { writer_.EndCall(python_, Nanos(kBegin + when), CallExit::kReturn); }
  void Add(ThreadHandle thread, Operator one) {
    one.begin = one.begin + Nanos(kBegin);
    one.end = one.end + Nanos(kBegin);
    writer_.AddOperator(thread, one);
  }
  std::string Text(TableForm form) {
    EXPECT_TRUE(writer_.End(Nanos(kBegin + 1'000'000), Accounting{}, EndInfo{}).has_value());
    const std::string trace(reinterpret_cast<const char*>(sink_.bytes().data()), sink_.bytes().size());
    ExportOptions options;
    options.table = OperatorTableOptions{.grouping = OperatorGrouping::kStack, .frames = 99, .form = form};
    const Exported exported = Export(trace, ExportFormat::kText, options);
    EXPECT_TRUE(exported.result.has_value());
    return exported.bytes;
  }
  // "name group" → number of calls.
  std::map<std::string, int> Table(OperatorGrouping grouping, const char* member, size_t frames = 5) {
    EXPECT_TRUE(writer_.End(Nanos(kBegin + 1'000'000), Accounting{}, EndInfo{}).has_value());
    const std::string trace(reinterpret_cast<const char*>(sink_.bytes().data()), sink_.bytes().size());
    ExportOptions options;
    options.table = OperatorTableOptions{.grouping = grouping, .frames = frames, .form = TableForm::kJson};
    const Exported exported = Export(trace, ExportFormat::kText, options);
    EXPECT_TRUE(exported.result.has_value());
    rapidjson::Document document;
    document.Parse(exported.bytes.c_str());
    std::map<std::string, int> counts;
    if (document.IsObject()) {
      for (const auto& row : document["rows"].GetArray()) {
        counts[std::string(row["name"].GetString()) + " " + row[member].GetString()] = row["count"].GetInt();
      }
    }
    return counts;
  }

  MemorySink sink_;
  StackTable stacks_;
  TraceWriter writer_;
  ThreadHandle python_;
  ThreadHandle operators_;
  ThreadHandle engine_;
};

TEST_F(OperatorTables, ByTheCallsAroundThem) {
  const FrameId train = Frame("train", "/job/train.py");
  const FrameId linear = Frame("linear", "/usr/lib/python3/dist-packages/torch/nn/functional.py");
  Call(train, 0);
  Add(operators_, {.begin = Nanos(10), .end = Nanos(20), .name = "aten::add"});
  Call(linear, 30);
  Add(operators_, {.begin = Nanos(40), .end = Nanos(50), .name = "aten::add"});
  Return(60);
  Add(operators_, {.begin = Nanos(70), .end = Nanos(80), .name = "aten::add"});
  Return(90);
  Add(operators_, {.begin = Nanos(95), .end = Nanos(96), .name = "aten::add"});
  Add(engine_, {.begin = Nanos(40), .end = Nanos(50), .name = "aten::add"});
  EXPECT_EQ(Table(OperatorGrouping::kStack, "stack"),
            (std::map<std::string, int>{{"aten::add /job/train.py(7): train", 2},
                                        {"aten::add torch/nn/functional.py(7): linear < /job/train.py(7): train", 1},
                                        {"aten::add [no Python]", 2}}));
}

TEST_F(OperatorTables, AsLinesOfStacks) {
  Call(Frame("train step", "/job/a;b.py"), 0);
  Call(Frame("linear", "linear.py"), 10);
  Add(operators_, {.begin = Nanos(100'000), .end = Nanos(120'900), .name = "aten::mm"});
  Add(operators_, {.begin = Nanos(200'000), .end = Nanos(210'300), .name = "aten::add"});
  Return(300'000);
  Add(operators_, {.begin = Nanos(400'000), .end = Nanos(400'500), .name = "aten::add"});  // less than a microsecond
  Return(500'000);
  Add(operators_, {.begin = Nanos(600'000), .end = Nanos(700'000), .name = "aten::add"});
  EXPECT_EQ(Text(TableForm::kStacks), "/job/a_b.py(7):_train_step;linear.py(7):_linear 31\n");
}

TEST_F(OperatorTables, BySomeFramesOnly) {
  Call(Frame("outer", "a.py"), 0);
  Call(Frame("inner", "b.py"), 10);
  Add(operators_, {.begin = Nanos(40), .end = Nanos(50), .name = "aten::add"});
  Return(60);
  Return(70);
  EXPECT_EQ(Table(OperatorGrouping::kStack, "stack", 1), (std::map<std::string, int>{{"aten::add b.py(7): inner", 1}}));
}

// The same stack before and after an operator does not mean that it ran there. A trace has samples by microseconds.
TEST_F(OperatorTables, BySamplesThatFellIntoThem) {
  const StackId stack = Stack({Frame("train", "train.py")});
  for (const int64_t when : {0, 100'000, 200'000}) {
    writer_.AddSample(python_, Nanos(kBegin + when), stack, SampleQuality::kSeen);
  }
  Add(operators_, {.begin = Nanos(50'000), .end = Nanos(60'000), .name = "aten::add"});
  Add(operators_, {.begin = Nanos(90'000), .end = Nanos(110'000), .name = "aten::add"});
  Add(operators_, {.begin = Nanos(190'000), .end = Nanos(200'000), .name = "aten::add"});
  EXPECT_EQ(Table(OperatorGrouping::kStack, "stack"),
            (std::map<std::string, int>{{"aten::add train.py(7): train", 2}, {"aten::add [not sampled]", 1}}));
}

TEST_F(OperatorTables, ABackwardOperatorBelongsToTheModuleOfItsForward) {
  const FrameId module = Frame("nn.Module: Linear_0 (layers.3)", "", FrameKind::kModule);
  Call(Frame("train", "train.py"), 0);
  Call(module, 10);
  Call(Frame("forward", "linear.py"), 15);
  Add(operators_, {.begin = Nanos(20), .end = Nanos(30), .name = "aten::addmm", .sequence = 5, .thread = 1});
  Return(35);
  Return(40);
  // On a thread of the engine, with what it calls.
  Add(engine_, {.begin = Nanos(53), .end = Nanos(54), .name = "aten::mm", .thread = 2});
  Add(engine_, {.begin = Nanos(52),
                .end = Nanos(55),
                .name = "AddmmBackward0",
                .sequence = 5,
                .forward_thread = 1,
                .thread = 2,
                .scope = OperatorScope::kBackwardFunction});
  Add(engine_, {.begin = Nanos(51),
                .end = Nanos(60),
                .name = "autograd::engine::evaluate_function: AddmmBackward0",
                .thread = 2});
  Add(engine_, {.begin = Nanos(61), .end = Nanos(62), .name = "aten::add_", .thread = 2});
  Add(operators_, {.begin = Nanos(70), .end = Nanos(80), .name = "aten::add_", .thread = 1});
  Return(90);
  EXPECT_EQ(Table(OperatorGrouping::kModule, "module"),
            (std::map<std::string, int>{
                {"aten::addmm Linear_0 (layers.3)", 1},
                {"aten::mm Linear_0 (layers.3), backward", 1},
                {"AddmmBackward0 Linear_0 (layers.3), backward", 1},
                {"autograd::engine::evaluate_function: AddmmBackward0 Linear_0 (layers.3), backward", 1},
                {"aten::add_ [no Python]", 1},
                {"aten::add_ [no module]", 1}}));
}

TEST_F(OperatorTables, BySteps) {
  writer_.BeginStep(python_, Nanos(kBegin + 10), 3);
  writer_.BeginStep(python_, Nanos(kBegin + 50), 4);
  writer_.EndStep(python_, Nanos(kBegin + 90));
  for (const int64_t when : {5, 20, 60, 70, 95}) {
    Add(operators_, {.begin = Nanos(when), .end = Nanos(when + 1), .name = "aten::mm"});
  }
  EXPECT_EQ(Table(OperatorGrouping::kStep, "step"),
            (std::map<std::string, int>{
                {"aten::mm ProfilerStep#3", 1}, {"aten::mm ProfilerStep#4", 2}, {"aten::mm [no step]", 2}}));
}

TEST_F(OperatorTables, ByOverload) {
  Add(operators_, {.begin = Nanos(1), .end = Nanos(2), .name = "aten::add", .overload = "Tensor"});
  Add(operators_, {.begin = Nanos(3), .end = Nanos(4), .name = "aten::add", .overload = "Scalar"});
  Add(operators_, {.begin = Nanos(5), .end = Nanos(6), .name = "aten::mm"});
  EXPECT_EQ(Table(OperatorGrouping::kOverload, "overload"),
            (std::map<std::string, int>{{"aten::add Tensor", 1}, {"aten::add Scalar", 1}, {"aten::mm ", 1}}));
}

}  // namespace
}  // namespace ptrace_prof
