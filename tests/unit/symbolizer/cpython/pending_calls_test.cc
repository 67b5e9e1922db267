// Where pending calls are: our offsets against a C compiler's, and against live processes of every CPython of the
// machine, with and without waiting calls. A place that cannot be confirmed is refused.
#include "symbolizer/cpython/pending_calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "attach/proc/call_queue_image.h"
#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/version_table.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

// The main thread blocks in a read. A worker puts calls into the main thread's queue, and waits too.
constexpr char kWithCalls[] = R"(
import ctypes, os, sys, threading
count = int(sys.argv[1])
function = ctypes.cast(ctypes.pythonapi.PyErr_Occurred, ctypes.c_void_p)
add = ctypes.pythonapi.Py_AddPendingCall
add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
def work():
    import time
    while open('/proc/self/syscall').read().split()[0] != '0': time.sleep(0.001)
    for number in range(count):
        add(function, 1000 + number)
    os.write(1, b'ready %d\n' % function.value)
    time.sleep(600)
threading.Thread(target=work, daemon=True).start()
os.read(os.pipe()[0], 1)
)";
constexpr char kIdle[] = "print('ready', flush=True); __import__('time').sleep(600)";

struct Opened {
  PythonProcess process;
  RemoteAddr interpreter;
};

Result<Opened> Open(const TestTarget& target, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const PythonProcess process, PythonProcess::Open(Pid(target.pid()), memory));
  uint64_t interpreter = 0;
  if (memory.ReadValue(process.runtime + process.layout.runtime_interpreters_main, &interpreter) != ReadStatus::kOk) {
    return Error{Code::kGone, "no interpreter", ""};
  }
  return Opened{process, RemoteAddr(interpreter)};
}

// The memory of a process with one word changed for the reader.
class ChangedMemory final : public RemoteMemory {
 public:
  ChangedMemory(RemoteMemory& memory, RemoteAddr at, uint32_t value) : memory_(memory), at_(at), value_(value) {}
  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    const ReadStatus status = memory_.Read(from, to, size);
    for (size_t i = 0; i < sizeof value_ && status == ReadStatus::kOk; ++i) {
      if (from <= at_ + i && at_ + i < from + size) {
        static_cast<uint8_t*>(to)[at_ + i - from] = static_cast<uint8_t>(value_ >> 8 * i);
      }
    }
    return status;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    return memory_.ReadBatch(requests, filled);
  }

 private:
  RemoteMemory& memory_;
  RemoteAddr at_;
  uint32_t value_;
};

class PendingCallsOf : public testing::TestWithParam<Interpreter> {
 protected:
  static bool HasAnyThread() { return GetParam().minor() >= 12; }
};

TEST_P(PendingCallsOf, AreFoundAndEmpty) {
  const TestTarget target(GetParam().Command({"-c", kIdle}));
  ASSERT_TRUE(target.ready());
  ProcessMemory memory(Pid(target.pid()));
  const Result<Opened> opened = Open(target, memory);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  for (const CallRunner runner : {CallRunner::kAnyThread, CallRunner::kMainThread}) {
    const auto found =
        FindPendingCalls(Pid(target.pid()), memory, opened.value().process, opened.value().interpreter, runner);
    if (runner == CallRunner::kAnyThread && !HasAnyThread()) {
      ASSERT_TRUE(found.has_error());
      EXPECT_EQ(found.error().code, Code::kUnimplemented);
      continue;
    }
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found.value().runner, runner);
    const auto image = CallQueueImage::Read(memory, found.value().queue);
    ASSERT_TRUE(image.has_value()) << image.error().message;
    EXPECT_EQ(image.value().waiting(), 0U);
    const auto unlocked = CallQueueImage::IsUnlocked(memory, found.value().queue);
    EXPECT_TRUE(unlocked.has_value() && unlocked.value());
  }
  const auto best = FindPendingCalls(Pid(target.pid()), memory, opened.value().process, opened.value().interpreter);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best.value().runner, HasAnyThread() ? CallRunner::kAnyThread : CallRunner::kMainThread);
}

TEST_P(PendingCallsOf, AreFoundWithWhatWaitsInThem) {
  if (!GetParam().root.empty()) {
    GTEST_SKIP() << "ctypes and /proc are not in every root";
  }
  for (const int count : {1, 5, 31}) {
    const TestTarget target(GetParam().Command({"-c", kWithCalls, std::to_string(count)}));
    ASSERT_TRUE(target.ready()) << target.line();
    const uint64_t function = std::stoull(target.line().substr(6));
    ProcessMemory memory(Pid(target.pid()));
    const Result<Opened> opened = Open(target, memory);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    const auto found = FindPendingCalls(Pid(target.pid()), memory, opened.value().process, opened.value().interpreter,
                                        CallRunner::kMainThread);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    auto image = CallQueueImage::Read(memory, found.value().queue);
    ASSERT_TRUE(image.has_value()) << image.error().message;
    ASSERT_EQ(image.value().waiting(), static_cast<uint32_t>(count));
    const uint32_t next = image.value().next_slot();
    for (int i = 0; i < count; ++i) {
      const uint32_t slot =
          (next + found.value().queue.slots - static_cast<uint32_t>(count - i)) % found.value().queue.slots;
      EXPECT_EQ(image.value().At(slot), (QueuedFunction{RemoteAddr(function), RemoteAddr(1000 + i)}));
    }
    EXPECT_EQ(image.value().full(), count == 31 && found.value().queue.limit == 31);
  }
}

TEST_P(PendingCallsOf, AreRefusedWhereAWordIsNotWhatItShouldBe) {
  const TestTarget target(GetParam().Command({"-c", kIdle}));
  ASSERT_TRUE(target.ready());
  ProcessMemory memory(Pid(target.pid()));
  const Result<Opened> opened = Open(target, memory);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const auto found = FindPendingCalls(Pid(target.pid()), memory, opened.value().process, opened.value().interpreter);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  const CallQueue& queue = found.value().queue;
  for (const RemoteAddr word : {queue.lock, queue.count, queue.first, queue.first + 4, queue.calls}) {
    ChangedMemory changed(memory, word, 0x77777777);
    const auto refused =
        FindPendingCalls(Pid(target.pid()), changed, opened.value().process, opened.value().interpreter);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().reason, Reason::kUnknownQueueLayout);
    EXPECT_NE(refused.error().message.find(GetParam().version), std::string::npos) << refused.error().message;
  }
}

TEST_P(PendingCallsOf, AreWhereACompilerPutsThem) {
  const auto headers = HeadersOf(GetParam());
  if (!headers) {
    GTEST_SKIP() << "CPython " << GetParam().version << " (" << GetParam().kind << ") has no internal headers here";
  }
  const ScratchDirectory scratch;
  const std::string program = scratch.path() + "/probe";
  const auto compiled = OutputOf({"gcc", "-w", "-std=gnu11", "-I" + *headers, "-I" + *headers + "/internal",
                                  "-idirafter", std::filesystem::path(*headers).parent_path(), "-o", program,
                                  PP_PENDING_PROBE, "-static", "-Wl,--unresolved-symbols=ignore-all"});
  ASSERT_TRUE(compiled.has_value());
  std::istringstream lines(OutputOf({program}).value_or(""));
  std::map<std::string, uint32_t> said;
  for (auto [name, value] = std::pair<std::string, uint32_t>(); lines >> name >> value;) {
    said[name] = value;
  }
  // The offsets of our anchors in the layout: the field `ceval.gil`, and `interp` of a thread state.
  const uint32_t gil = GetParam().minor() == 12 ? 384 : 16;
  const auto expect = [&](const std::string& name, const PendingPlace& place) {
    switch (place.anchor) {
      case PendingAnchor::kRuntime: EXPECT_EQ(said.at(name + ".runtime"), uint32_t(place.offset)); break;
      case PendingAnchor::kInterpreter: EXPECT_EQ(said.at(name + ".interpreter"), uint32_t(place.offset)); break;
      case PendingAnchor::kGilPointer: EXPECT_EQ(said.at(name + ".interpreter"), gil + place.offset); break;
      case PendingAnchor::kThread: EXPECT_EQ(said.at(name + ".thread"), 16U + place.offset); break;
    }
  };
  const VersionFacts& facts = FactsOf({3, static_cast<uint8_t>(GetParam().minor())});
  ASSERT_TRUE(facts.main_thread_calls);
  for (const auto& [runner, known] : {std::pair("any", facts.any_thread_calls), {"main", facts.main_thread_calls}}) {
    if (!known) {
      continue;
    }
    const PendingCallsRow& row = *known;
    expect(runner, row.pending);
    expect("breaker", row.breaker);
    EXPECT_EQ(row.lock, said.at("lock"));
    EXPECT_EQ(row.count, said.at("count"));
    EXPECT_EQ(row.calls, said.at("calls"));
    EXPECT_EQ(row.first, said.at("first"));
    EXPECT_EQ(row.first + 4, said.at("next"));
    EXPECT_EQ(row.call_size, said.at("call_size"));
    EXPECT_EQ(row.slots, said.at("slots"));
    EXPECT_EQ(row.max != kAbsent, said.contains("max"));
    if (row.eval_frame != kAbsent) {
      EXPECT_EQ(row.eval_frame, said.at("eval_frame"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PendingCallsOf, testing::ValuesIn(InterpretersWithGil()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PendingCallsOf);

}  // namespace
}  // namespace ptrace_prof
