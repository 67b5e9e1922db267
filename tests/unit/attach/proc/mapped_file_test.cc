#include "attach/proc/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

namespace fs = std::filesystem;

// A directory of its own with a file of one page, "file", that holds "mapped".
class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() {
    char name[] = "/tmp/pp_mapped_file_XXXXXX";
    directory_ = ::mkdtemp(name);
    Write("file", "mapped");
  }
  ~MappedFileTest() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) const {
    const UniqueFd fd(::open((directory_ / name).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600));
    ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Called in the child.
  void Map(const std::string& path) const {
    const int fd = ::open(path.c_str(), O_RDONLY);
    if (::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
      ::_exit(1);
    }
  }
  static MemoryRegion RegionOf(Pid pid, const std::string& name) {
    const auto maps = ReadMaps(pid);
    for (const MemoryRegion& region : maps.value()) {
      if (region.path.ends_with(name)) {
        return region;
      }
    }
    ADD_FAILURE() << name << " is not mapped";
    return {};
  }
  static std::string Contents(const Result<UniqueFd>& file) {
    char text[16] = {};
    return file.has_value() && ::read(file.value().get(), text, sizeof text) > 0 ? std::string(text) : "nothing";
  }

  fs::path directory_;
};

TEST_F(MappedFileTest, OpensAPlainFileAndTheExecutable) {
  const Child child([&](auto say) {
    Map(directory_ / "file");
    say(1);
    ::pause();
  });
  ASSERT_EQ(child.Hear(), 1u);
  EXPECT_EQ(Contents(OpenMappedFile(child.pid(), RegionOf(child.pid(), "/file"))), "mapped");
  const auto executable = OpenMappedFile(child.pid(), RegionOf(child.pid(), "/attach_proc_test"));
  EXPECT_EQ(Contents(executable).substr(0, 4), "\177ELF");
}

TEST_F(MappedFileTest, NeverOpensAReplacement) {
  const Child child([&](auto say) {
    Map(directory_ / "file");
    say(1);
    ::pause();
  });
  ASSERT_EQ(child.Hear(), 1u);
  const MemoryRegion before = RegionOf(child.pid(), "/file");
  Write("new", "other!");
  fs::rename(directory_ / "new", directory_ / "file");
  MemoryRegion deleted = RegionOf(child.pid(), "/file");
  EXPECT_TRUE(deleted.deleted);
  // Opened through map_files where we may, else not at all; never by its old name, which is now wrong.
  EXPECT_NE(Contents(OpenMappedFile(child.pid(), before)), "other!");
  EXPECT_NE(Contents(OpenMappedFile(child.pid(), deleted)), "other!");
  if (::geteuid() == 0) {
    EXPECT_EQ(Contents(OpenMappedFile(child.pid(), deleted)), "mapped");
  }
  // For a range that is not mapped there is only the name, which is now another file's.
  MemoryRegion elsewhere = before;
  elsewhere.start = RemoteAddr(0x1000);
  elsewhere.end = RemoteAddr(0x2000);
  EXPECT_EQ(OpenMappedFile(child.pid(), elsewhere).error().code, Code::kNotFound);
}

TEST_F(MappedFileTest, DoesNotOpenAFifoOrANonFile) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "fifo").c_str(), &info), 0);
  MemoryRegion region;
  region.end = RemoteAddr(0x1000);
  region.path = directory_ / "fifo";
  region.inode = info.st_ino;
  region.device_major = static_cast<uint32_t>(info.st_dev >> 8);
  region.device_minor = static_cast<uint32_t>(info.st_dev & 0xff);
  EXPECT_EQ(OpenMappedFile(Pid(::getpid()), region).error().code, Code::kNotFound);  // and does not hang
  region.path = "[heap]";
  EXPECT_EQ(OpenMappedFile(Pid(::getpid()), region).error().code, Code::kInvalidArgument);
  region.path = "";
  EXPECT_EQ(OpenMappedFile(Pid(::getpid()), region).error().code, Code::kInvalidArgument);
}

TEST_F(MappedFileTest, FindsAFileInsideAChroot) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root for chroot";
  }
  // The path contains an absolute link, which must be followed inside the target's root.
  fs::create_directories(directory_ / "lib");
  fs::rename(directory_ / "file", directory_ / "lib/pp_chroot_file");
  fs::create_directory_symlink("/lib", directory_ / "pp_link");
  const Child child([&](auto say) {
    if (::chroot(directory_.c_str()) != 0 || ::chdir("/") != 0) {
      ::_exit(1);
    }
    Map("/lib/pp_chroot_file");
    say(1);
    ::pause();
  });
  ASSERT_EQ(child.Hear(), 1u);
  MemoryRegion region = RegionOf(child.pid(), "/pp_chroot_file");
  region.path = "/pp_link/pp_chroot_file";
  region.start = RemoteAddr(0x1000);  // so that map_files has no entry
  region.end = RemoteAddr(0x2000);
  EXPECT_EQ(Contents(OpenMappedFile(child.pid(), region)), "mapped");
}

}  // namespace
}  // namespace ptrace_prof
