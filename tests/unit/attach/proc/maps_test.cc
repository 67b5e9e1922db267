#include "attach/proc/maps.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

TEST(ParseMaps, ReadsEveryField) {
  const auto regions =
      ParseMaps("7f12a0000000-7f12a0021000 r-xp 00001000 fe:1a 131072                     /usr/lib/a b.so\n");
  ASSERT_EQ(regions.size(), 1u);
  const MemoryRegion& r = regions[0];
  EXPECT_EQ(r.start.value, 0x7f12a0000000u);
  EXPECT_EQ(r.size(), 0x21000u);
  EXPECT_EQ(r.file_offset, 0x1000u);
  EXPECT_EQ(r.device_major, 0xfeu);
  EXPECT_EQ(r.device_minor, 0x1au);
  EXPECT_EQ(r.inode, 131072u);
  EXPECT_TRUE(r.readable && !r.writable && r.executable && !r.deleted);
  EXPECT_EQ(r.path, "/usr/lib/a b.so");
}

TEST(ParseMaps, SpecialAndAnonymousAndDeleted) {
  size_t malformed = 99;
  const auto regions = ParseMaps(
      "55d0-55e0 rw-p 00000000 00:00 0 \n"
      "55e0-55f0 rw-p 00000000 00:00 0                          [heap]\n"
      "56e0-56f0 r--p 00000000 08:01 77                         /tmp/x (deleted)\n"
      "57e0-57f0 r--s 00000000 08:01 78                         /tmp/two\\012lines\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]",
      &malformed);
  ASSERT_EQ(regions.size(), 5u);
  EXPECT_EQ(malformed, 0u);
  EXPECT_EQ(regions[0].path, "");
  EXPECT_EQ(regions[1].path, "[heap]");
  EXPECT_EQ(regions[2].path, "/tmp/x");
  EXPECT_TRUE(regions[2].deleted);
  EXPECT_EQ(regions[3].path, "/tmp/two\nlines");
  EXPECT_EQ(regions[4].end.value, 0xffffffffff601000u);
}

TEST(ParseMaps, SkipsAndCountsWhatIsMalformed) {
  for (const char* line : {"\n", "garbage\n", "1-\n", "-1-2 rw-p 0 0:0 0\n", "20-10 rw-p 0 00:00 0\n",
                           "10-10 rw-p 0 00:00 0\n", "10-20 rw\n", "10-20 rwxp 0 00:00 0x\n", "10-20 rwxp 0 0000 0\n",
                           "10-20 rwxp 0 00:00 \n", "11111111111111111-22222222222222222 rwxp 0 00:00 0\n"}) {
    size_t malformed = 0;
    EXPECT_TRUE(ParseMaps(line, &malformed).empty()) << line;
    EXPECT_EQ(malformed, 1u) << line;
  }
  EXPECT_TRUE(ParseMaps("").empty());
}

TEST(ReadMaps, FindsAMappingOfALiveProcess) {
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Child child([](auto say) {
    say(1);
    Child::WaitForParent();
  });
  ASSERT_EQ(child.Hear(), 1u);
  const auto maps = ReadMaps(child.pid());
  ASSERT_TRUE(maps.has_value());
  const RemoteAddr wanted(reinterpret_cast<uint64_t>(page));
  EXPECT_TRUE(std::any_of(maps.value().begin(), maps.value().end(),
                          [&](const MemoryRegion& r) { return r.start <= wanted && wanted < r.end && r.readable; }));
  EXPECT_TRUE(std::any_of(maps.value().begin(), maps.value().end(),
                          [](const MemoryRegion& r) { return r.executable && r.path.ends_with("attach_proc_test"); }));
  ::munmap(page, 4096);
}

TEST(ReadMaps, SaysGoneForAZombieAndForNobody) {
  Child child([](auto say) { say(1); });
  ASSERT_EQ(child.Hear(), 1u);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid().value), &info, WEXITED | WNOWAIT), 0);
  const Pid pid = child.pid();
  ASSERT_TRUE(ReadMaps(pid).has_error());
  EXPECT_EQ(ReadMaps(pid).error().code, Code::kGone);
  child.Reap();
  ASSERT_TRUE(ReadMaps(pid).has_error());
  EXPECT_EQ(ReadMaps(pid).error().code, Code::kGone);
}

}  // namespace
}  // namespace ptrace_prof
