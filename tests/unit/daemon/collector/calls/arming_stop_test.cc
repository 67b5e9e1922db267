// Stacks at the arming stop, of real interpreters.
#include "daemon/collector/calls/arming_stop.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "attach/proc/process_memory.h"
#include "rpc/messages/check_spec.h"
#include "symbolizer/cpython/python_process.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

constexpr char kScript[] = R"(
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def goes_down(depth):
    if depth:
        return goes_down(depth - 1)
    print("is down", flush=True)
    threading.Event().wait()
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
thread = threading.Thread(target=goes_down, args=(9,), daemon=True)
thread.start()
thread.join()
)";

struct Nowhere : ByteSink {
  Result<void> Write(std::span<const std::byte>) override { return {}; }
};

class ArmingStopTest : public testing::TestWithParam<Interpreter> {};

// The thread begins between the last look at the list of threads and the moment at which all threads are stopped.
TEST_P(ArmingStopTest, AThreadThatBeganSinceTheRosterWasReadHasItsStack) {
  TestTarget target(GetParam().Command({"-c", kScript}));
  ASSERT_TRUE(target.ready()) << target.line();
  const Pid pid(target.pid());
  ProcessMemory memory(pid);
  const auto process = PythonProcess::Open(pid, memory);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const Layout& layout = process.value().layout;
  InterpreterWatch watch(layout, process.value().runtime);
  Nowhere nowhere;
  StackTable stacks;
  CaptureTask request;
  FillDefaults(request.mutable_spec());
  TraceWriter writer(nowhere, stacks, request);
  ThreadRoster roster(pid, pid, memory, process.value(), request, writer);
  ASSERT_EQ(roster.Refresh(MonotonicNow(), watch), ReadStatus::kOk);
  ASSERT_EQ(roster.tracks().size(), 1U);

  ASSERT_EQ(::kill(target.pid(), SIGUSR1), 0);
  ASSERT_EQ(target.ReadLine(), "is down");
  bool is_armed = false;
  const auto stop =
      ArmUnderStop({pid, memory, layout, watch, roster, request.spec().sample().max_depth()}, [&]() -> Result<void> {
        is_armed = true;
        return {};
      });
  ASSERT_TRUE(stop.has_value()) << stop.error().message;
  EXPECT_TRUE(is_armed);
  ASSERT_EQ(stop.value().threads.size(), 2U);
  for (const ThreadAtArming& at : stop.value().threads) {
    const bool is_known = roster.Find(at.entry.state.value) != nullptr;
    EXPECT_TRUE(at.is_whole);
    const auto same = [&](const RawFrame& frame) {
      return std::ranges::count(at.frames, frame.code, &RawFrame::code) == 10;
    };
    EXPECT_EQ(std::ranges::count_if(at.frames, same), is_known ? 0 : 10) << at.frames.size() << " frames";
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreters, ArmingStopTest, testing::ValuesIn(Interpreters()),
                         [](const auto& param) { return param.param.Label(); });

}  // namespace
}  // namespace ptrace_prof
