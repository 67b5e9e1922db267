// The calls of a thread while steps are recorded, and while they are not.
#include "daemon/collector/calls/step_gate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/rpc/messages/asked_steps.h"

namespace ptrace_prof {
namespace {

// The notation of the replayer's tests: "1(f" begins f at 1, "2)" ends the innermost call.
class Lines : public CallSink {
 public:
  explicit Lines(StepMarker* steps = nullptr) : steps_(steps) {}
  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    text += fmt::format(" {}({}{}{}", when.value, static_cast<char>('a' + function.value),
                        entry == CallEntry::kRunning ? " running" : "", generator.value != 0 ? " g" : "");
    ++depth;
  }
  void End(Nanos when, CallExit exit) override {
    EXPECT_GT(depth--, 0);
    text += fmt::format(" {}){}", when.value, exit == CallExit::kCut ? "cut" : "");
  }
  void Lost(Nanos from, Nanos to, uint64_t events) override {
    text += fmt::format(" {}-{}[{} lost]", from.value, to.value, events);
  }
  void StepEnded(Nanos when) override {
    text += fmt::format(" {}step", when.value);
    if (steps_ != nullptr) {
      steps_->OnStepEnd(when);
    }
  }

  std::string text;
  int depth = 0;

 private:
  StepMarker* steps_;
};

class StepGateTest : public testing::Test {
 public:
  void Begin(CallSink& sink, int when, char function, CallEntry entry = CallEntry::kCall, uint64_t generator = 0) {
    sink.Begin(Nanos(when), FrameId(static_cast<uint32_t>(function - 'a')), entry, GeneratorId(generator));
  }
  StepMarker steps{AskedSteps{.schedule = Schedule{.wait = 1, .active = 1}}};  // every other step, from 1 on
};

TEST_F(StepGateTest, ThePlansOwnThread) {
  Lines lines(&steps);
  StepGate gate(steps, lines);
  Begin(gate, 0, 'm', CallEntry::kRunning);
  Begin(gate, 1, 'f');
  gate.End(Nanos(2), CallExit::kReturn);
  gate.StepEnded(Nanos(3));  // 0: waits
  Begin(gate, 4, 'f', CallEntry::kCall, 7);
  gate.StepEnded(Nanos(5));  // 1: recorded
  Begin(gate, 6, 'g');
  gate.End(Nanos(7), CallExit::kReturn);
  gate.StepEnded(Nanos(8));  // 2: waits
  Begin(gate, 9, 'g');
  gate.End(Nanos(10), CallExit::kReturn);
  gate.End(Nanos(11), CallExit::kReturn);
  gate.StepEnded(Nanos(12));  // 3
  gate.End(Nanos(13), CallExit::kCut);
  EXPECT_EQ(lines.text, " 3step 5step 5(m running 5(f running g 6(g 7) 8step 8)cut 8)cut 12step 12(m running 13)cut");
  EXPECT_EQ(lines.depth, 0);
  EXPECT_EQ(gate.left_out(), 6U);
}

TEST_F(StepGateTest, AnotherThreadGoesByTheTime) {
  Lines lines;
  StepGate gate(steps, lines);
  Begin(gate, 1, 'a');
  for (const int end : {10, 20, 30, 40, 50}) {  // on from 20 to 30, and from 40 to 50
    steps.OnStepEnd(Nanos(end));
  }
  Begin(gate, 15, 'b');
  Begin(gate, 22, 'c');
  gate.End(Nanos(23), CallExit::kReturn);
  gate.End(Nanos(35), CallExit::kReturn);
  gate.End(Nanos(60), CallExit::kCut);
  EXPECT_EQ(lines.text, " 20(a running 20(b running 22(c 23) 30)cut 30)cut 40(a running 50)cut");
}

TEST_F(StepGateTest, ATurnThatIsKnownLateComesLate) {
  Lines lines;
  StepGate gate(steps, lines);
  Begin(gate, 1, 'a');
  Begin(gate, 25, 'b');
  steps.OnStepEnd(Nanos(10));
  steps.OnStepEnd(Nanos(20));
  gate.End(Nanos(26), CallExit::kReturn);
  EXPECT_EQ(lines.text, " 25(a running 25(b running 26)");
}

TEST_F(StepGateTest, AGapIsShownAsFarAsItIsRecorded) {
  Lines lines;
  StepGate gate(steps, lines);
  Begin(gate, 1, 'a');
  gate.Lost(Nanos(2), Nanos(3), 5);
  for (const int end : {10, 20, 30}) {
    steps.OnStepEnd(Nanos(end));
  }
  gate.Lost(Nanos(25), Nanos(35), 6);
  gate.End(Nanos(36), CallExit::kReturn);
  EXPECT_EQ(lines.text, " 20(a running 25-30[6 lost] 30)cut");
}

TEST_F(StepGateTest, ANumberOfStepsIsThoseSteps) {
  StepMarker few(AskedSteps{.steps = 1});
  Lines lines(&few);
  StepGate gate(few, lines);
  Begin(gate, 0, 'm', CallEntry::kRunning);
  gate.StepEnded(Nanos(1));
  Begin(gate, 2, 'f');
  gate.StepEnded(Nanos(3));
  gate.End(Nanos(4), CallExit::kReturn);
  gate.End(Nanos(5), CallExit::kCut);
  EXPECT_EQ(lines.text, " 1step 1(m running 2(f 3step 3)cut 3)cut");
  EXPECT_EQ(gate.left_out(), 1U);
}

}  // namespace
}  // namespace ptrace_prof
