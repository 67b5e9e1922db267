#include "client/cli/inspect/dump_text.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

DumpedThread WaitingThread(int tid, const std::string& name) {
  DumpedThread thread;
  thread.info = {.pid = Pid(70), .tid = Tid(tid), .ns_tid = Tid(tid), .name = name};
  thread.state = ThreadState::kIdle;
  thread.detail = "futex";
  thread.frames = {
      {.function = "wait", .file = "threading.py", .line = 327, .end_line = 327, .column = 16, .end_column = 32},
      {.function = "work", .file = "job.py", .line = 9}};
  return thread;
}

DumpedProcess SomeProcess() {
  DumpedProcess process;
  process.info = {
      .pid = Pid(70), .ns_pid = Pid(1), .name = "python3", .cmdline = {"python3", "job.py"}, .python = "3.12.1"};
  DumpedThread main = WaitingThread(70, "MainThread");
  main.state = ThreadState::kRunning;
  main.detail.clear();
  main.holds_gil = true;
  main.frames = {{.function = "step", .file = "job.py", .line = 4}};
  process.threads = {main, WaitingThread(71, "a"), WaitingThread(72, "b")};
  return process;
}

TEST(DumpText, GroupsThreadsThatDoTheSame) {
  EXPECT_EQ(DumpText(std::vector{SomeProcess()}, Grouping::kSameStacks),
            "Process 70 (1 in its container): python3 job.py\n"
            "Python 3.12.1; the most recent call is first\n"
            "\n"
            "Thread 70 \"MainThread\": running, holds the GIL\n"
            "    step (job.py:4)\n"
            "\n"
            "2 threads: idle in futex\n"
            "  Thread 71 \"a\"\n"
            "  Thread 72 \"b\"\n"
            "    wait (threading.py:327:17-32)\n"
            "    work (job.py:9)\n");
}

TEST(DumpText, OrNot) {
  const std::string text = DumpText(std::vector{SomeProcess()}, Grouping::kNone);
  EXPECT_NE(text.find("Thread 71 \"a\": idle in futex\n    wait"), std::string::npos) << text;
  EXPECT_NE(text.find("Thread 72 \"b\": idle in futex\n    wait"), std::string::npos) << text;
}

TEST(DumpText, ThreadsWithLocalsStandAlone) {
  DumpedProcess process = SomeProcess();
  process.threads[1].locals[1] = {{.name = "self", .value = "<Job at 0x7f>", .is_argument = true},
                                  {.name = "n", .value = "3"}};
  const std::string text = DumpText(std::vector{process}, Grouping::kSameStacks);
  EXPECT_NE(text.find("    work (job.py:9)\n        arg self = <Job at 0x7f>\n        n = 3\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("2 threads"), std::string::npos);
}

TEST(DumpText, DisarmsWhatTheTargetSays) {
  DumpedProcess process = SomeProcess();
  process.info.cmdline = {"python3", "\x1b]0;title\x07"};
  process.threads[0].info.name = "a\n\u202eb";
  process.threads[0].frames[0].function = "f\x1b[2J";
  process.threads[0].frames[0].file = "x\r.py";
  const std::string text = DumpText(std::vector{process}, Grouping::kSameStacks);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("\"a\\x0a\\u202eb\""), std::string::npos);
}

TEST(DumpText, MarksWhatIsNotWhole) {
  DumpedProcess process = SomeProcess();
  process.threads[0].quality = SampleQuality::kTruncated;
  EXPECT_NE(DumpText(std::vector{process}, Grouping::kSameStacks).find("could not be read"), std::string::npos);
}

TEST(DumpText, Places) {
  EXPECT_EQ(PlaceText({.file = "a.py"}), "a.py");
  EXPECT_EQ(PlaceText({.file = "a.py", .line = 3}), "a.py:3");
  EXPECT_EQ(PlaceText({.file = "a.py", .line = 3, .end_line = 3, .column = 0, .end_column = 1}), "a.py:3:1");
  EXPECT_EQ(PlaceText({.file = "a.py", .line = 3, .end_line = 5, .column = 4, .end_column = 7}), "a.py:3:5-5:7");
}

}  // namespace
}  // namespace ptrace_prof
