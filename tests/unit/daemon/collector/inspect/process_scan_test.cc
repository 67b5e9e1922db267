#include "daemon/collector/inspect/process_scan.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

namespace ptrace_prof {
namespace {

TEST(MapsMentionPython, LooksAtNamesOfFilesOnly) {
  const std::string head = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 131 ";
  for (const char* path : {"/usr/bin/python3.11", "/usr/lib/libpython3.8.so.1.0", "/x/libpypy3-c.so",
                           "/usr/lib/python3/_json.cpython-311-x86_64-linux-gnu.so", "/tmp/mypython (deleted)"}) {
    EXPECT_TRUE(MapsMentionPython(head + path)) << path;
    EXPECT_TRUE(MapsMentionPython(head + path + "\n" + head + "/lib/libc.so.6\n")) << path;
  }
  for (const char* path : {"/usr/lib/python3/dist-packages/numpy.libs/libblas.so", "/opt/python/bin/ruby", "",
                           "[stack]", "/home/pythonista/a.out"}) {
    EXPECT_FALSE(MapsMentionPython(head + path + "\n" + head + "/lib/libc.so.6\n")) << path;
  }
  EXPECT_FALSE(MapsMentionPython(""));
}

TEST(DescribeCandidate, ReportsAboutUs) {
  const auto candidate = DescribeCandidate(Pid(::getpid()), CandidateKind::kMapsPython);
  ASSERT_TRUE(candidate.has_value());
  const ProcessEntry& entry = candidate.value().entry;
  EXPECT_EQ(entry.pid, Pid(::getpid()));
  EXPECT_EQ(entry.parent_pid, Pid(::getppid()));
  EXPECT_EQ(entry.uid, Uid(::getuid()));
  EXPECT_EQ(entry.name, "daemon_inspect_");
  ASSERT_FALSE(entry.cmdline.empty());
  EXPECT_NE(entry.cmdline[0].find("daemon_inspect_test"), std::string::npos);
  EXPECT_GT(entry.start_time.value, 0);
}

TEST(DescribeCandidate, CutsALongCommandLineAndSaysSo) {
  std::string program = "/bin/sh";
  std::string option = "-c";
  std::string script = "echo; read line; :";
  std::string word(1000, 'w');
  char* words[] = {program.data(), option.data(), script.data(), word.data(), word.data(), word.data(), nullptr};
  int ends[2];
  int ready[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::pipe(ready), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, ready[1], 1);
  pid_t pid = 0;
  ASSERT_EQ(::posix_spawn(&pid, program.c_str(), &actions, nullptr, words, nullptr), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  const auto candidate = DescribeCandidate(Pid(pid), CandidateKind::kMapsPython);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (const int fd : {ends[0], ends[1], ready[0], ready[1]}) {
    ::close(fd);
  }
  ASSERT_TRUE(candidate.has_value());
  const auto& shown = candidate.value().entry.cmdline;
  EXPECT_EQ(shown.front(), program);
  EXPECT_EQ(shown.back(), "…");
  EXPECT_LE(std::accumulate(shown.begin(), shown.end(), size_t{0},
                            [](size_t sum, const auto& one) { return sum + one.size(); }),
            size_t{1 << 10} + shown.back().size());
}

}  // namespace
}  // namespace ptrace_prof
