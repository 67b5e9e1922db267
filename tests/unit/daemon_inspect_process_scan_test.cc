#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/inspect/process_scan.h"

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

TEST(DescribeCandidate, TellsAboutUs) {
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

}  // namespace
}  // namespace ptrace_prof
