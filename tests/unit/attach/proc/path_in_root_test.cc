#include "attach/proc/path_in_root.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace ptrace_prof {
namespace {

namespace fs = std::filesystem;

// A file "secret" beside a root, and in the root a tree with all kinds of links.
class PathInRoot : public testing::Test {
 protected:
  PathInRoot() {
    char name[] = "/tmp/pp_path_in_root_XXXXXX";
    outside_ = ::mkdtemp(name);
    const fs::path in = outside_ / "root";
    fs::create_directories(in / "lib/deep");
    fs::create_directories(in / "proc/self");
    std::ofstream(outside_ / "secret") << "secret";
    std::ofstream(in / "lib/file") << "file";
    std::ofstream(in / "secret") << "ours";
    fs::create_symlink("lib/file", in / "relative");
    fs::create_symlink("/lib", in / "absolute");
    fs::create_symlink("/../../lib/../lib/file", in / "above");
    fs::create_symlink("../../../../secret", in / "lib/deep/out");
    fs::create_symlink("/absolute/", in / "twice");
    fs::create_symlink("round", in / "round");
    fs::create_symlink("nothing", in / "dangling");
    fs::create_symlink("lib/file/", in / "notafolder");
    fs::create_symlink("/proc/self/root", in / "magic");
    EXPECT_EQ(::mkfifo((in / "fifo").c_str(), 0600), 0);
    root_ = UniqueFd(::open(in.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~PathInRoot() override { fs::remove_all(outside_); }

  // The inode that was found, or minus errno.
  static int64_t Found(const UniqueFd& fd) {
    struct stat info {};
    const int error = errno;
    return !fd.is_open() ? -error : ::fstat(fd.get(), &info) == 0 ? static_cast<int64_t>(info.st_ino) : -errno;
  }
  int64_t Ours(const std::string& path) const { return Found(LookInRoot(root_, path)); }
  int64_t Kernel(const std::string& path) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Found(UniqueFd(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how))));
  }

  fs::path outside_;
  UniqueFd root_;
};

TEST_F(PathInRoot, FindsWhatTheKernelFinds) {
  if (Kernel("/") == -ENOSYS) {
    GTEST_SKIP() << "this kernel, or a sandbox, has no openat2 to compare with";
  }
  for (const char* path : {"/",
                           ".",
                           "..",
                           "../..",
                           "/lib",
                           "lib/",
                           "lib//deep/./",
                           "/lib/file",
                           "lib/file/",
                           "lib/file/.",
                           "lib/file/..",
                           "relative",
                           "relative/",
                           "absolute",
                           "absolute/file",
                           "above",
                           "lib/deep/out",
                           "lib/deep/../file",
                           "twice/file",
                           "twice/../secret",
                           "round",
                           "dangling",
                           "notafolder",
                           "fifo",
                           "nothing",
                           "nothing/..",
                           "lib/nothing",
                           "/../secret",
                           "lib/deep/../../../secret",
                           "magic",
                           "magic/secret"}) {
    EXPECT_EQ(Ours(path), Kernel(path)) << path;
  }
  EXPECT_EQ(Ours(""), -ENOENT);
}

TEST_F(PathInRoot, NeverLeavesTheRoot) {
  const int64_t secret = Found(UniqueFd(::open((outside_ / "secret").c_str(), O_PATH)));
  for (const char* path : {"lib/deep/out", "../secret", "/../../secret", "lib/../../secret", "twice/../../secret"}) {
    EXPECT_NE(Ours(path), secret) << path;
    EXPECT_EQ(Ours(path), Ours("secret")) << path;
  }
}

TEST_F(PathInRoot, WhatIsTooLongIsRefused) {
  std::string deep;
  for (int i = 0; i < 300; ++i) {
    deep += "d/";
    fs::create_directory(outside_ / "root" / deep);
  }
  EXPECT_EQ(Ours(deep), -ENAMETOOLONG);
  EXPECT_EQ(Ours(std::string(1 << 20, '/') + "lib"), -ENAMETOOLONG);
  std::string round;
  for (int i = 0; i < 1000; ++i) {
    round += "lib/../";
  }
  EXPECT_EQ(Ours(round + "secret"), Ours("secret")) << "long, but not deep";
}

}  // namespace
}  // namespace ptrace_prof
