#include "attach/proc/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/proc/path_in_root.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr int kLook = O_PATH | O_CLOEXEC;

UniqueFd LookAtExecutable(Pid pid, const MemoryRegion&) {
  return UniqueFd(::open(ProcPath(pid, "exe").c_str(), kLook));
}

UniqueFd LookAtMapping(Pid pid, const MemoryRegion& region) {
  const std::string name = fmt::format("map_files/{:x}-{:x}", region.start.value, region.end.value);
  return UniqueFd(::open(ProcPath(pid, name).c_str(), kLook));
}

// The target controls symbolic links on the path, including absolute ones: they must not lead out of its root.
UniqueFd LookInsideRoot(Pid pid, const MemoryRegion& region) {
  const UniqueFd root(::open(ProcPath(pid, "root").c_str(), kLook | O_DIRECTORY));
  return root.is_open() && !region.deleted ? LookInRoot(root, region.path) : UniqueFd();
}

bool IsInOurMountNamespace(Pid pid) {
  struct stat theirs {};
  struct stat ours {};
  return ::stat(ProcPath(pid, "ns/mnt").c_str(), &theirs) == 0 && ::stat("/proc/self/ns/mnt", &ours) == 0 &&
         theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

// A path in maps is relative to our root, even for a process with another root directory. If the target is in another
// mount namespace, the path may name an unrelated file of ours.
UniqueFd LookAtPath(Pid pid, const MemoryRegion& region) {
  return region.deleted || !IsInOurMountNamespace(pid) ? UniqueFd() : UniqueFd(::open(region.path.c_str(), kLook));
}

// On these, stat(2) and maps name different devices for one file: maps has the superblock's (overlayfs before Linux
// 6.7: that of the layer below), stat one made up for the subvolume or layer. The inode numbers agree. Trusting only
// the inode is safe enough, because readers of an ELF file also compare its build-id with the mapped one.
bool DeviceNumbersDiffer(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) {
    return false;
  }
  const auto type = static_cast<uint64_t>(info.f_type);
  return type == OVERLAYFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC;
}

bool IsMappedFile(int fd, const MemoryRegion& region) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != region.inode) {
    return false;
  }
  return (major(info.st_dev) == region.device_major && minor(info.st_dev) == region.device_minor) ||
         DeviceNumbersDiffer(fd);
}

}  // namespace

Result<UniqueFd> OpenMappedFile(Pid pid, const MemoryRegion& region) {
  if (region.inode == 0 || !region.path.starts_with('/')) {
    return Error{Code::kInvalidArgument, fmt::format("the mapping at {:#x} is not a file", region.start.value), ""};
  }
  using Look = UniqueFd (*)(Pid, const MemoryRegion&);
  constexpr Look kWays[] = {LookAtExecutable, LookAtMapping, LookInsideRoot, LookAtPath};
  for (const Look look : kWays) {
    const UniqueFd seen = look(pid, region);
    if (!seen.is_open() || !IsMappedFile(seen.get(), region)) {
      continue;
    }
    const std::string again = fmt::format("/proc/self/fd/{}", seen.get());
    UniqueFd file(::open(again.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.is_open()) {
      return file;
    }
  }
  return Error{Code::kNotFound,
               fmt::format("cannot open {}, which process {} has mapped{}", region.path, pid.value,
                           region.deleted ? " and which has been deleted" : ""),
               ""};
}

}  // namespace ptrace_prof
